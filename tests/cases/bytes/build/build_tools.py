"""Writes ../tool_calls.jsonl."""
import json
rows=[]
def T(expect,candidates,why,leaves=None,policy='pii',flags=''):
    rows.append(dict(id=f'tc-{len(rows)+1:03d}',policy=policy,flags=flags,candidates=candidates,expect=expect,leaves=leaves,why=why))
def c(name,args): return {"call":{"name":name,"arguments":args}}
NO=c('noop','{}'); NOL='{"arguments":{},"name":"noop"}'
C='4012888888881881'
# secrets in arguments, an alternative offered
T('next-alternative',[[c('delete_user','{"email":"x@example.org"}'),NO]],'D1: the call holds an address; no part of it leaves, the alternative does',[NOL])
sec=[('{"card":%s}'%C,'card as a JSON number'),('{"card":"4012 8888 8888 1881"}','card as a string'),('{"a":{"b":{"c":{"d":"jane.roe@example.org"}}}}','address four levels deep'),('{"list":["a",["b",["4012-8888-8888-1881"]]]}','card in nested arrays'),('{"jane.roe@example.org":1}','address as a key'),('{"note":"ok","to":"jane.roe@example.org","cc":null}','address between harmless members'),('{"to":"jane.roe\\u0040example.org"}','address with a JSON escape'),('{"card":"\\u0034\\u0030\\u0031\\u0032888888881881"}','digits as JSON escapes'),('{"card":"4012\\u00a08888\\u00a08888\\u00a01881"}','no-break spaces as escapes'),('{"card":"４０１２８８８８８８８８１８８１"}','full-width digits'),('{"card":"4012\\u200b8888\\u200b8888\\u200b1881"}','ignorable characters as escapes'),('{"card":"4012\\n8888\\n8888\\n1881"}','line breaks as escapes'),('{"card":"4012\\t8888\\t8888\\t1881"}','tabs as escapes'),('{"html":"4012&nbsp;8888&nbsp;8888&nbsp;1881"}','entities in a string'),('{"md":"**4012** 8888 8888 1881"}','Markdown in a string'),('{"card":"4012 8888 8888 1881 123"}','card and security code'),('{"q":"card_4012888888881881_x"}','card glued to underscores'),('{"iban":"GB82WEST12345698765432"}','IBAN'),('{"tel":"+1 202-555-0143"}','phone'),('{"ssn":"219-09-9999"}','SSN'),('{"ssn":219099999}','SSN as a number beside the key'),('{"ip":"203.0.113.87"}','IPv4'),('{"ip":"2001:db8:85a3::8a2e:370:7334"}','IPv6'),('{"inner":"{\\"email\\":\\"jane.roe@example.org\\"}"}','JSON in a string'),('{"who":"Ana Beispiel"}','declared person'),('{"path":"\\/a\\/b\\/?c=4012888888881881"}','escaped slashes in a URL'),('{"n":4012888888881881.0}','card as a number with a decimal'),('{"n":[1,4012888888881881,2]}','card in an array of numbers'),('  {"email" : "x@example.org"}  ','white space round the object')]
for a,w in sec: T('next-alternative',[[c('act',a),NO]],w+': the call is refused whole',[NOL])
T('next-alternative',[[c('jane.roe@example.org','{}'),NO]],'address as the name of the tool',[NOL])
T('next-alternative',[[c('act','{"email":"x@example.org"}'),'A plain sentence.']],'the alternative is text',['A plain sentence.'])
T('next-alternative',[[c('act','{"email":"x@example.org"}'),c('act','{"card":%s}'%C),NO]],'two refused calls, then a clean one',[NOL])
T('reject-whole',[[c('act','{"email":"x@example.org"}')]],'no alternative: nothing of the call leaves',[])
T('reject-whole',[[c('act','{"email":"x@example.org"}'),c('act','{"card":%s}'%C)]],'every alternative is refused',[])
T('reject-whole',[[c('act','{"email":"x@example.org"}')],['Done.']],'--on-refuse skip goes on with the next step; the call leaves nothing',['Done.'],flags='--on-refuse skip')
T('reject-whole',[['Hello. '],[c('act','{"a":"x@example.org","b":"harmless, long, and with, commas; and clauses: many"}')]],'clauses inside arguments are no parts',['Hello. '])
T('reject-whole',[[c('act','{"a":"One. Two. Three. x@example.org. Four."}')]],'sentences inside arguments are no parts',[])
T('reject-whole',[[c('act','{"email":"x@example.org"}')]],'granularity token does not split a call',[],flags='--granularity token')
T('reject-whole',[[c('act','{"email":"x@example.org"}')]],'granularity span does not split a call',[],flags='--granularity span')
T('reject-whole',[[c('act','{"email":"x@example.org"}')]],'release at the end does not split a call',[],flags='--release end')
# admitted whole, exact text of numbers
def adm(name,args,leaf,why): T('admit-whole',[[c(name,args)]],why,None if leaf is None else ['{"arguments":%s,"name":"%s"}'%(leaf,name)])
adm('noop','{}','{}','empty arguments')
adm('add','{"a":1,"b":2}','{"a":1,"b":2}','small integers')
adm('add','{"b":2,"a":1}','{"a":1,"b":2}','keys are sorted')
adm('big','{"n":123456789012345678901234567890}','{"n":123456789012345678901234567890}','D1: an integer beyond 64 bits keeps its text')
adm('big','{"n":18446744073709551616}','{"n":18446744073709551616}','2^64')
adm('big','{"n":-9223372036854775809}','{"n":-9223372036854775809}','one below the lowest 64-bit integer')
adm('big','{"n":9007199254740993}','{"n":9007199254740993}','2^53+1 is no double')
adm('exp','{"n":1e400}','{"n":1e400}','beyond a double, keeps its text')
adm('exp','{"n":-1E-400}','{"n":-1E-400}','below a double, capital E, keeps its text')
adm('exp','{"n":1E5}','{"n":1E5}','exponent keeps its text')
adm('exp','{"n":1e+05}','{"n":1e+05}','padded exponent keeps its text')
adm('zero','{"n":-0}','{"n":-0}','negative zero')
adm('zero','{"n":-0.0}','{"n":-0.0}','negative zero with a decimal')
adm('dec','{"n":1.0}','{"n":1.0}','trailing zero')
adm('dec','{"n":0.10000000000000000555}','{"n":0.10000000000000000555}','more digits than a double has')
adm('dec','{"n":0.30000000000000004}','{"n":0.30000000000000004}','a double, to the last digit')
adm('deep','{"a":'+'['*60+'1'+']'*60+'}','{"a":'+'['*60+'1'+']'*60+'}','nesting of 60')
adm('mix','{"a":[true,false,null,"",{}]}','{"a":[true,false,null,"",{}]}','all kinds of values')
adm('text','{"a":"caf\\u00e9"}',None,'an escape of a letter; the canonical form writes it one way')
adm('text','{"a":"\\u2028"}',None,'an escape of a line separator')
adm('text','{"a":"\\ud83d\\ude00"}',None,'a surrogate pair')
adm('text','{"":""}','{"":""}','empty key')
adm('text','{"name":"noop","arguments":{"email":"none"}}','{"arguments":{"email":"none"},"name":"noop"}','arguments that look like a call')
adm('text','{"order":"4012888888881882"}','{"order":"4012888888881882"}','check digit fails: no card')
adm('a b','{}','{}','a name with a space')
T('admit-whole',[['I will look it up. '],[c('search','{"q":"tides"}')],[' Here it is.']],'text, call, text',['I will look it up. ','{"arguments":{"q":"tides"},"name":"search"}',' Here it is.'])
T('admit-whole',[[c('a','{"n":1}')],[c('b','{"n":2}')]],'two calls one after the other are two',['{"arguments":{"n":1},"name":"a"}','{"arguments":{"n":2},"name":"b"}'])
# malformed arguments
for a,w in [('{"a":1,"a":2}','a key twice'),('{"a":1,"\\u0061":2}','a key twice, once escaped'),('{"x":{"a":1,"a":1}}','a key twice, deep'),('[1,2]','an array'),('"x"','a string'),('42','a number'),('null','null'),('','empty text'),('{"a":1','cut short'),('{"a":1}}','a brace too many'),('{"a":1} {"b":2}','two objects'),('{"a":01}','leading zero'),('{"a":+1}','plus sign'),('{"a":.5}','no digit before the point'),('{"a":1.}','no digit behind the point'),('{"a":NaN}','NaN'),('{"a":Infinity}','Infinity'),("{'a':1}",'single quotes'),('{a:1}','key without quotes'),('{"a":1,}','trailing comma'),('{"a":"\\ud800"}','lone surrogate'),('{"a":"\\x41"}','escape that JSON does not have'),('{"a":"line\nbreak"}','raw line break in a string'),('// c\n{"a":1}','comment'),('\ufeff{"a":1}','byte order mark'),('{"a":'+'['*5000+']'*5000+'}','nesting of 5,000: refused, not a crash')]:
    T('next-alternative',[[c('act',a),NO]],'TOOL-MALFORMED: '+w,[NOL])
T('reject-whole',[[c('act','{"a":1,"a":2}')]],'TOOL-MALFORMED without an alternative',[])
# tools that the policy forbids
P='no-delete'
T('next-alternative',[[c('delete_user','{"id":7}'),NO]],'forbidden tool',[NOL],P)
T('next-alternative',[[c('send_mail','{"to":"x@example.com"}'),NO]],'forbidden argument',[NOL],P)
T('admit-whole',[[c('send_mail','{"to":"x@example.org"}')]],'allowed argument',['{"arguments":{"to":"x@example.org"},"name":"send_mail"}'],P)
T('admit-whole',[[c('delete_users','{"id":7}')]],'another name',['{"arguments":{"id":7},"name":"delete_users"}'],P)
T('reject-whole',[[c('delete_user','{"email":"a"}')],['Bye.']],'skipped: the refused call leaves nothing',['Bye.'],P,'--on-refuse skip')
# text that is a call
J='{"arguments":{"email":"a"},"name":"delete_user"}'
for t,w in [(J,'D2: byte-identical to an admitted call'),('{"name":"delete_user","arguments":{"email":"a"}}','members in the other order'),('{ "name" : "delete_user" , "arguments" : { "email" : "a" } }','white space'),('\n\n'+J+'\n','line breaks round it'),('{\n  "name": "delete_user",\n  "arguments": {\n    "email": "a"\n  }\n}','pretty-printed'),('{"name":"delete_user","arguments":"{\\"email\\":\\"a\\"}"}','arguments as a string of JSON'),('{"name":"delete_\\u0075ser","arguments":{}}','the name with an escape'),('{"name":"delete_user","arguments":{},"id":"1"}','one member more'),('{"call":{"name":"delete_user","arguments":"{}"}}','the form of an input line'),('[{"name":"delete_user","arguments":{}}]','in an array'),('{"tool_calls":[{"type":"function","function":{"name":"delete_user","arguments":"{}"}}]}','the form of a chat server'),('{"type":"function","function":{"name":"delete_user","arguments":"{}"}}','function wrapper'),('{"function_call":{"name":"delete_user","arguments":"{}"}}','older chat form'),('{"type":"tool_use","name":"delete_user","input":{"id":7}}','another server’s form'),('{"name":"delete_user","parameters":{"id":7}}','parameters for arguments'),('```json\n'+J+'\n```','fenced'),('```\n'+J+'\n```','fenced without a language'),('~~~json\n'+J+'\n~~~','fenced with tildes'),('<tool_call>\n'+J+'\n</tool_call>','tagged'),('\u200b'+J,'an ignorable character before'),('\ufeff'+J,'a byte order mark before'),('`'+J+'`','code span')]:
    strict=w.split(':')[0] in('D2','members in the other order','white space','line breaks round it','pretty-printed','arguments as a string of JSON','the name with an escape')
    T('judged-as-call',[[t,'A plain sentence.']],('text candidate that parses as a call: '+w) if strict else ('near form of a call ('+w+'): judged as a call, or what leaves can not be taken for one; either way it is typed as text'),['A plain sentence.'] if strict else None,P)
T('judged-as-call',[[J]],'with --on-refuse skip nothing of it leaves',[],P,'--on-refuse skip')
T('judged-as-call',[['{"arguments":{"q":"tides"},"name":"search"}']],'a harmless text call: may leave, but typed apart from an admitted call',None,P)
T('judged-as-call',[['{"arguments":{"email":"x@example.org"},"name":"noop"}','A plain sentence.']],'text call with a secret: refused whole, no part of it leaves',['A plain sentence.'])
T('judged-as-call',[['{"arguments":{"a":1,"a":2},"name":"noop"}','A plain sentence.']],'text call with a key twice: malformed as the call would be',None)
T('judged-as-call',[['{"arguments":{"ema'],['il":"a"},"name":"delete_user"}']],'two text candidates that join to a call: what leaves can not be taken for one',None,P)
T('judged-as-call',[['{"arguments":{},'],['"name":"delete_user"}']],'two text candidates that join to a call, --release end',None,P,'--release end')
for t,w in [('I would send '+J+' if you agree.','a call inside prose'),('Call: '+J,'a label before'),(J+' Done.','a sentence behind'),('The JSON {"a": 1} is fine.','JSON that is no call'),('{"a":1}','an object without a name'),('{"name":"Ana"}','an object with a name alone'),('{"name":5,"arguments":{}}','a name that is no string'),('{"arguments":{"q":"tides"}}','arguments alone'),('delete_user(email="a")','a call in Python'),('name: delete_user\narguments: {}','YAML')]:
    T('admit-whole',[[t]],'text that is no call ('+w+'): it leaves as text, typed as text',[t],P)
# mixed streams
T('next-alternative',[['Hello. '],[c('delete_user','{}'),c('noop','{}')],[' Bye.']],'the second step asks for its alternative',['Hello. ',NOL,' Bye.'],P)
T('admit-whole',[[c('act','{"a":"4012 8888"}')],[c('act','{"b":"8888 1881"}')]],'a number split over two calls: not promised, listed to document it',['{"arguments":{"a":"4012 8888"},"name":"act"}','{"arguments":{"b":"8888 1881"},"name":"act"}'])
T('next-alternative',[[{"text":"Write to x@example.org.","logprobs":[-0.1]},NO]],'text with log-probabilities, then a call',None)
# lines that are no item
for cand,w in [([[5]],'a number as a candidate'),([[None]],'null as a candidate'),([[{}]],'an empty object'),([[{"call":{"arguments":"{}"}}]],'a call without a name'),([[{"call":{"name":"noop"}}]],'a call without arguments'),([[{"call":{"name":7,"arguments":"{}"}}]],'a name that is a number'),([[{"call":"noop"}]],'a call that is a string'),([[{"text":"a","call":{"name":"noop","arguments":"{}"}}]],'text and call in one candidate'),([[{"call":{"name":"noop","arguments":"{}","extra":1}}]],'an unknown member'),(['a','b'],'strings in place of lists'),({"a":1},'an object in place of a list')]:
    T('refuse-input',cand,'no item by docs/reference/loop.md: '+w+'; exit code 1, nothing leaves',[])
if __name__=='__main__':
    with open('../tool_calls.jsonl','w',encoding='utf-8') as f:
        for r in rows: f.write(json.dumps(r,ensure_ascii=False)+'\n')
    import collections; print(len(rows),collections.Counter(r['expect'] for r in rows))
