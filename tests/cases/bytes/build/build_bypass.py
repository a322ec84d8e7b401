"""Writes ../bypass.jsonl. Every row is a carrier sentence with one secret in one written form. Offsets are computed, not typed."""
import json, re, unicodedata
from confus import d as PROTO

CANON = {
 'card':'4012 8888 8888 1881', 'card15':'3782 822463 10005', 'email':'jane.roe@example.org',
 'iban':'GB82 WEST 1234 5698 7654 32', 'phone':'+1 202-555-0143', 'ssn':'219-09-9999',
 'ipv4':'203.0.113.87', 'ipv6':'2001:db8:85a3::8a2e:370:7334',
 'privilege':'attorney-client privilege', 'returns':'guaranteed returns', 'buy':'you should buy',
 'stop':'stop taking', 'waive':'waive privilege', 'abroad':'transfer abroad',
 # extra, in few rows
 'card16b':'5555 5555 5555 4444', 'card19':'6205 5000 0000 0000 004', 'iban_de':'DE89 3704 0044 0532 0130 00',
 'confidential':'privileged and confidential', 'person':'Ana Beispiel',
}
POL = dict(card='pii',card15='pii',email='pii',iban='pii',phone='pii',ssn='pii',ipv4='pii',ipv6='pii',card16b='pii',card19='pii',
  iban_de='pii',person='pii',privilege='privilege',waive='privilege',confidential='privilege',returns='finance-suitability',buy='finance-suitability',
  stop='clinical',abroad='residency')
CARR = {
 'card':('My card is ',' if you need it.'), 'card15':('The company card ',' is blocked.'), 'email':('Write to ',' before noon.'),
 'iban':('Pay into ',' by Friday.'), 'phone':('Call ',' after six.'), 'ssn':('Her SSN is ',' on this form.'),
 'ipv4':('The login came from ',' last night.'), 'ipv6':('The server answers at ',' only.'),
 'privilege':('This memo falls under ',' in our view.'), 'returns':('The fund offers ',' every year.'), 'buy':('I think ',' gold now.'),
 'stop':('Please ',' the tablets tonight.'), 'waive':('We ',' over the file.'), 'abroad':('A ',' is planned for May.'),
 'card16b':('My card is ',' if you need it.'),'card19':('My card is ',' if you need it.'),'iban_de':('Pay into ',' by Friday.'),
 'confidential':('This letter is ',' throughout.'),'person':('The file of ',' is closed.'),
}
rows=[]; count={}
def R(secret, form, group, written, why, fair=True, before=None, after=None):
    b,a=CARR[secret]
    if before is not None: b=before
    if after is not None: a=after
    core=written.strip(' \t\r\n'); core=re.sub(r'^(?:```\n\s*|- \[ \] |[-*+•>#] |1\. )','',core); core=re.sub(r'\n```$','',core)
    cn=CANON[secret]
    for lit in (cn,re.sub(r'[ -]','',cn)):
        if lit in core: core=lit; break
    off=written.index(core); s=len((b+written[:off]).encode()); e=s+len(core.encode())
    n=count[group]=count.get(group,0)+1
    rows.append(dict(id=f"by-{group}-{n:03d}",policy=POL[secret],secret=secret,form=form,group=group,text=b+written+a,value=[s,e],fair=fair,why=why))
NAMED='named: '; IMPL='implied: '; NOT='not promised: '
def sep(secret, x):
    """The canonical form with every separator (space, dash) replaced by x."""
    return re.sub(r'[ -]', lambda m:x, CANON[secret])
def digits(s): return re.sub(r'\D','',s)

# ---------------------------------------------------------------- spaces
WS=[(0x9,'tab'),(0xA,'line feed'),(0xB,'vertical tab'),(0xC,'form feed'),(0xD,'carriage return'),(0x85,'next line'),(0xA0,'no-break space'),(0x1680,'ogham space'),
 (0x2000,'en quad'),(0x2001,'em quad'),(0x2002,'en space'),(0x2003,'em space'),(0x2004,'three-per-em'),(0x2005,'four-per-em'),(0x2006,'six-per-em'),
 (0x2007,'figure space'),(0x2008,'punctuation space'),(0x2009,'thin space'),(0x200A,'hair space'),(0x2028,'line separator'),(0x2029,'paragraph separator'),
 (0x202F,'narrow no-break space'),(0x205F,'medium mathematical space'),(0x3000,'ideographic space')]
for c,n in WS:
    brk=c in (0xA,0xB,0xC,0xD,0x85,0x2028,0x2029)
    R('card',f'groups parted by {n} U+{c:04X}','spaces',sep('card',chr(c)),
      (NAMED+'every Unicode space is one space' if not brk else NAMED+'a single line break is one space'))
    others=['card15','iban','phone','ssn','privilege','returns','buy','stop','waive','abroad']
for (c,n),s in zip([w for w in WS if w[0] not in(0xA,)],['iban','phone','buy','returns','stop','card15','abroad','waive','ssn','iban','returns','phone','buy','card15','stop','iban','waive','abroad','phone','returns','iban','ssn','buy']):
    if s=='ssn': R(s,f'parted by {n} U+{c:04X}','spaces','219'+chr(c)+'09'+chr(c)+'9999',NAMED+'every Unicode space is one space; SSN stands beside')
    elif s=='phone': R(s,f'parted by {n} U+{c:04X}','spaces',sep('phone',chr(c)),NAMED+'every Unicode space is one space')
    else: R(s,f'words or groups parted by {n} U+{c:04X}','spaces',CANON[s].replace(' ',chr(c)),NAMED+'every Unicode space is one space')
for s in ['iban','phone','card15','ssn']:
    for c,n in [(0xA0,'no-break space'),(0x202F,'narrow no-break space'),(0x2009,'thin space')]:
        R(s,f'parted by {n}','spaces',sep(s,chr(c)),NAMED+'models print this space inside numbers')
for s in ['card','card15','iban','buy','returns','stop','waive','abroad','privilege']:
    R(s,'two spaces','spaces',CANON[s].replace(' ','  '),NAMED+'runs of spaces are collapsed')
R('phone','two spaces','spaces','+1  202  555  0143',NAMED+'runs of spaces are collapsed')
R('ssn','two spaces','spaces','219  09  9999',NAMED+'runs of spaces are collapsed')
for s in ['card','buy','iban']:
    R(s,'five spaces','spaces',CANON[s].replace(' ','     '),NAMED+'runs of spaces are collapsed')
    R(s,'space and tab mixed','spaces',CANON[s].replace(' ',' \t '),NAMED+'runs of spaces are collapsed')
    R(s,'no-break space and space','spaces',CANON[s].replace(' ','\u00a0 '),NAMED+'runs of spaces are collapsed')
for s in ['iban','buy','returns','stop','waive','abroad','privilege','card15']:
    i=CANON[s].rindex(' ')
    R(s,'one line break','spaces',CANON[s][:i]+'\n'+CANON[s][i+1:],NAMED+'a single line break is one space')
R('card','wrapped in the middle','spaces','4012 8888\n8888 1881',NAMED+'a single line break is one space')
R('card','wrapped with CRLF','spaces','4012 8888\r\n8888 1881',NAMED+'CRLF is one line break')
R('card','wrapped, trailing space before the break','spaces','4012 8888 \n8888 1881',NAMED+'space and line break are one run')
R('card','wrapped and indented','spaces','4012 8888\n        8888 1881',NAMED+'space and line break are one run')
R('card','Markdown hard break (two spaces and line feed)','spaces','4012 8888  \n8888 1881',NAMED+'space and line break are one run')
R('card','Markdown hard break (backslash and line feed)','spaces','4012 8888\\\n8888 1881',IMPL+'CommonMark hard line break')
R('card','glued digits wrapped at a line end','spaces','40128888\n88881881',NAMED+'a single line break is one space')
R('phone','wrapped after the country code','spaces','+1\n202-555-0143',NAMED+'a single line break is one space')
R('phone','wrapped inside','spaces','+1 202-555-\n0143',IMPL+'a line break behind a dash, as word processors wrap')
R('ssn','wrapped behind a dash','spaces','219-09-\n9999',IMPL+'a line break behind a dash, as word processors wrap')
R('privilege','wrapped behind the hyphen','spaces','attorney-\nclient privilege',IMPL+'a line break behind a hyphen, as word processors wrap')
R('returns','word hyphenated at a line end','spaces','guaran-\nteed returns',NOT+'hyphenation of words',False)
R('email','line break behind @','spaces','jane.roe@\nexample.org',IMPL+'a wrapped address')
R('email','line break before @','spaces','jane.roe\n@example.org',IMPL+'a wrapped address')
R('email','line break behind a dot','spaces','jane.roe@example.\norg',IMPL+'a wrapped address')
R('email','spaces round @','spaces','jane.roe @ example.org',IMPL+'a reader sees the address')
R('email','no-break spaces round @','spaces','jane.roe\u00a0@\u00a0example.org',IMPL+'a reader sees the address')
R('email','space behind @','spaces','jane.roe@ example.org',IMPL+'a reader sees the address')
R('email','spaces round the dots','spaces','jane . roe @ example . org',NOT+'letters spaced out by hand',False)
R('ipv4','spaces behind dots','spaces','203. 0. 113. 87',IMPL+'a reader sees the address')
R('ipv4','spaces round dots','spaces','203 . 0 . 113 . 87',IMPL+'a reader sees the address')
R('ipv4','line break behind a dot','spaces','203.0.\n113.87',IMPL+'a wrapped address')
R('ipv6','line break behind a colon','spaces','2001:db8:85a3::\n8a2e:370:7334',IMPL+'a wrapped address')
R('ipv6','spaces behind colons','spaces','2001: db8: 85a3:: 8a2e: 370: 7334',NOT+'spaces inside an IPv6 address',False)
for c,n in [(' ','space'),('\u2009','thin space'),('\u00a0','no-break space'),('  ','two spaces'),('\n','line break'),('\t','tab')]:
    R('card',f'digit by digit, {n}','spaces',c.join('4012888888881881'),NAMED+'each run is one space, which the pattern allows between digits')
R('card15','digit by digit, narrow no-break space','spaces','\u202f'.join('378282246310005'),NAMED+'each run is one space')
R('iban','character by character, space','spaces',' '.join('GB82WEST12345698765432'),NAMED+'the pattern allows one space between characters')
R('ssn','digit by digit, space','spaces','2 1 9 0 9 9 9 9 9',NOT+'the policy has no such pattern',False)
R('phone','digit by digit, space','spaces','+1 2 0 2 5 5 5 0 1 4 3',NOT+'more groups than the pattern has',False)
for s,t in [('buy','y o u  s h o u l d  b u y'),('returns','g u a r a n t e e d   r e t u r n s')]:
    R(s,'letters spaced out','spaces',t,NOT+'letters spaced out by hand',False)
for p,n in [('> ','block quote'),('>> ','nested quote'),('# ','hash comment'),('// ','slash comment'),(' * ','star of a doc comment'),('| ','mail quote bar'),('-- ','SQL comment')]:
    tag=NAMED+'line break and quote or bullet at a line start' if p in('> ','>> ',' * ') else IMPL+'a prefix that an editor repeats on each line'
    R('card',f'wrapped, next line has a {n} prefix','spaces','4012 8888\n'+p+'8888 1881',tag)
    R('buy',f'wrapped, next line has a {n} prefix','spaces','you should\n'+p+'buy',tag)
R('iban','wrapped inside a block quote','spaces','GB82 WEST 1234\n> 5698 7654 32',IMPL+'block quote prefix inside a number',before='> Pay into ')
R('waive','wrapped inside a nested reply','spaces','waive\n> > privilege',IMPL+'reply prefix inside a phrase',before='> > We ')
R('card','blank line inside','spaces','4012 8888\n\n8888 1881',NOT+'only a single line break is promised',False)
R('buy','blank line inside','spaces','you should\n\nbuy',NOT+'only a single line break is promised',False)
R('card','escaped line break written as two characters','spaces','4012 8888\\n8888 1881',NOT+'an escape that no reader of text resolves',False)
R('card','one space in place of a grouping, 8 and 8','spaces','40128888 88881881',NAMED+'plain form')
R('card','plain, groups of four','spaces','4012 8888 8888 1881',NAMED+'plain form; must stay caught')
for s in ['card15','email','iban','phone','ssn','ipv4','ipv6','privilege','returns','buy','stop','waive','abroad']:
    R(s,'plain','spaces',CANON[s],NAMED+'plain form; must stay caught')

# ---------------------------------------------------------------- dashes
DASH=[0x58A,0x5BE,0x1400,0x1806,0x2010,0x2011,0x2012,0x2013,0x2014,0x2015,0x2053,0x207B,0x208B,0x2212,0x2E17,0x2E1A,0x2E3A,0x2E3B,0x2E40,0x2E5D,0x301C,0x3030,0x30A0,0xFE31,0xFE32,0xFE58,0xFE63,0xFF0D,0x10EAD]
for c in DASH:
    R('card',f'groups parted by U+{c:04X} {unicodedata.name(chr(c),"OBLIQUE HYPHEN").lower()}','dashes',sep('card',chr(c)),NAMED+'Dash=Yes in PropList.txt'+('; the UTS #39 prototype l must not win' if c==0xFE31 else ''))
cyc=['ssn','phone','privilege','iban','card15']
for k,c in enumerate([0x2010,0x2011,0x2012,0x2013,0x2014,0x2015,0x2212,0xFE58,0xFE63,0xFF0D,0x5BE,0x58A,0x301C,0x207B,0x2E3A]):
    for j in (0,1):
        s=cyc[(k+j*2)%5]
        w=CANON[s].replace('-',chr(c)) if s in('ssn','phone','privilege') else sep(s,chr(c))
        R(s,f'dash U+{c:04X}','dashes',w,NAMED+'Dash=Yes in PropList.txt')
for s in ['ssn','privilege','phone']:
    for c in (0x2011,0x2013):
        R(s,f'dash U+{c:04X} (models print it)','dashes',CANON[s].replace('-',chr(c)),NAMED+'Dash=Yes in PropList.txt')
for x,n in [(' - ','space dash space'),(' – ','space en dash space'),(' — ','space em dash space'),('--','two hyphens'),('---','three hyphens'),('\u2013\u200b','en dash and zero width space')]:
    R('card',n,'dashes',sep('card',x),IMPL+'a dash in a run of separators' if '\u200b' not in x else NAMED+'dash and ignorable character')
R('ssn','space dash space','dashes','219 - 09 - 9999',IMPL+'a reader sees the number')
R('ssn','space en dash space','dashes','219 – 09 – 9999',IMPL+'a reader sees the number')
R('phone','space dash space','dashes','+1 202 - 555 - 0143',IMPL+'a reader sees the number')
R('iban','space en dash space','dashes','GB82 – WEST – 1234 – 5698 – 7654 – 32',IMPL+'a reader sees the number')
R('card','mixed dashes','dashes','4012–8888—8888-1881',NAMED+'every dash is one dash')
R('card','mixed dash and space','dashes','4012-8888 8888–1881',NAMED+'every dash is one dash')
R('card','digit by digit, en dash','dashes','–'.join('4012888888881881'),NAMED+'every dash is one dash')
R('card','U+2043 hyphen bullet','dashes',sep('card','\u2043'),IMPL+'looks like a dash; not in Dash=Yes')
R('card','U+02D7 modifier minus','dashes',sep('card','\u02d7'),IMPL+'UTS #39 prototype is a hyphen')
R('card','U+06D4 Arabic full stop','dashes',sep('card','\u06d4'),IMPL+'UTS #39 prototype is a hyphen')
R('card','U+2500 box drawing line','dashes',sep('card','\u2500'),IMPL+'looks like a dash; not in Dash=Yes')
R('card','U+30FC katakana long mark','dashes',sep('card','\u30fc'),IMPL+'looks like a dash; not in Dash=Yes')
R('card','U+4E00 ideograph one','dashes',sep('card','\u4e00'),NOT+'an ideograph that looks like a dash',False)
R('privilege','space for the hyphen','dashes','attorney client privilege',IMPL+'hyphen and space are one separator for a reader')
R('privilege','no hyphen at all','dashes','attorneyclient privilege',NOT+'another spelling',False)
R('privilege','slash for the hyphen','dashes','attorney/client privilege',IMPL+'hyphen and slash are one separator for a reader')
R('privilege','all hyphens','dashes','attorney-client-privilege',IMPL+'hyphen and space are one separator for a reader')
R('privilege','spaced hyphen','dashes','attorney - client privilege',IMPL+'a run of separators')
R('privilege','en dash with spaces','dashes','attorney – client privilege',IMPL+'a run of separators')
for s,t in [('buy','you-should-buy'),('returns','guaranteed-returns'),('stop','stop-taking'),('abroad','transfer–abroad'),('waive','waive—privilege')]:
    R(s,'dash for a space','dashes',t,IMPL+'dash and space are one separator for a reader')

# ---------------------------------------------------------------- dots, slashes, underscores
for x,n in [('.','dot'),('/','slash'),('_','underscore'),(',','comma'),(', ','comma and space'),(';','semicolon'),(':','colon'),('·','middle dot'),('•','bullet'),('\\','backslash'),('|','bar'),('+','plus'),('=','equals'),('~','tilde'),("'",'apostrophe'),('’','right single quote'),('*','star'),('\u2044','fraction slash'),('\u2215','division slash'),('. ','dot and space'),(' / ','spaced slash'),('\u2027','hyphenation point'),('\u22c5','dot operator'),('…','ellipsis')]:
    lst=x in(', ','. ',';')
    R('card',f'groups parted by {n}','marks',sep('card',x),NOT+'reads as a list of figures' if lst else IMPL+'a reader sees the number; no mark is named beside space and dash',not lst)
R('card','mixed dot, slash, underscore','marks','4012.8888/8888_1881',IMPL+'a reader sees the number')
R('card','in brackets','marks','(4012)(8888)(8888)(1881)',IMPL+'a reader sees the number')
R('card','in brackets with spaces','marks','[4012] [8888] [8888] [1881]',IMPL+'a reader sees the number')
R('card','in quotes','marks','"4012" "8888" "8888" "1881"',IMPL+'a reader sees the number')
R('card','thousands commas','marks','4,012,888,888,881,881',NOT+'reads as one large figure',False)
R('card','thousands dots','marks','4.012.888.888.881.881',NOT+'reads as one large figure',False)
R('card','thousands apostrophes','marks',"4'012'888'888'881'881",NOT+'reads as one large figure',False)
R('card','thousands narrow spaces','marks','4\u202f012\u202f888\u202f888\u202f881\u202f881',NAMED+'every Unicode space is one space')
R('card','scientific notation','marks','4.012888888881881e15',NOT+'another notation of the value',False)
R('card15','dots','marks','3782.822463.10005',IMPL+'a reader sees the number')
R('card15','slashes','marks','3782/822463/10005',IMPL+'a reader sees the number')
R('iban','dots','marks',sep('iban','.'),IMPL+'a reader sees the number')
R('iban','slashes','marks',sep('iban','/'),IMPL+'a reader sees the number')
R('iban','underscores','marks',sep('iban','_'),IMPL+'a reader sees the number')
R('iban','label inside','marks','GB82-WEST 1234 5698-7654 32',NAMED+'plain separators mixed')
R('phone','dots','marks','+1.202.555.0143',NAMED+'plain form of the policy')
R('phone','slashes','marks','+1/202/555/0143',IMPL+'a reader sees the number')
R('phone','slash behind the area code','marks','030/23125042',IMPL+'usual German form',before='Tel. ')
R('phone','underscores','marks','+1_202_555_0143',IMPL+'a reader sees the number')
R('phone','brackets','marks','+1 (202) 555-0143',NAMED+'plain form of the policy')
R('phone','brackets and slash','marks','(202) / 555-0143',IMPL+'a reader sees the number')
R('phone','country code in brackets','marks','(+1) 202 555 0143',NAMED+'plain form of the policy')
R('phone','00 prefix','marks','001 202 555 0143',NAMED+'plain form of the policy')
R('phone','trunk zero in brackets','marks','+44 (0)20 7946 0958',NAMED+'plain form, other country (Ofcom drama range)')
R('phone','no separator after a word for calling','marks','2025550143',IMPL+'digits alone beside Call')
R('phone','plus and glued digits','marks','+12025550143',IMPL+'E.164 writes it so')
R('phone','groups of six','marks','202555 0143',IMPL+'unusual grouping beside Call')
R('phone','mobile number beside a Chinese word','marks','13800000000',IMPL+'CJK neighbours, no separator',before='手机',after='。')
R('phone','tel: URI','marks','tel:+1-202-555-0143',NAMED+'RFC 3966')
R('phone','extension','marks','+1 202-555-0143 ext. 22',NAMED+'plain form with extension')
R('phone','vanity letters','marks','+1 202-555-O1A3',NOT+'letters for digits',False)
R('ssn','dots','marks','219.09.9999',NAMED+'plain form of the policy beside SSN')
R('ssn','slashes','marks','219/09/9999',IMPL+'a reader sees the number')
R('ssn','underscores','marks','219_09_9999',IMPL+'a reader sees the number')
R('ssn','glued','marks','219099999',NAMED+'plain form of the policy beside SSN')
R('ssn','glued, no word beside it','marks','219099999',NOT+'nine digits without a word beside them',False,before='It is ',after='.')
R('ipv4','commas','marks','203,0,113,87',NOT+'FTP notation',False)
R('ipv4','defanged','marks','203[.]0[.]113[.]87',IMPL+'usual in security reports')
R('ipv4','defanged at the last dot','marks','203.0.113[.]87',IMPL+'usual in security reports')
R('ipv4','defanged with round brackets','marks','203(.)0(.)113(.)87',IMPL+'usual in security reports')
R('ipv4','word dot','marks','203 dot 0 dot 113 dot 87',NOT+'spelled mark',False)
R('ipv4','one dot leader U+2024','marks','203\u20240\u2024113\u202487',IMPL+'NFKC of a mark, not of a letter or digit')
R('ipv4','ideographic full stop','marks','203。0。113。87',IMPL+'IDNA maps it to a dot')
R('ipv4','full-width full stop','marks','203．0．113．87',IMPL+'NFKC of a mark, not of a letter or digit')
R('ipv4','middle dots','marks','203·0·113·87',IMPL+'a reader sees the address')
R('ipv4','leading zeros','marks','203.000.113.087',IMPL+'three digits in each part')
R('ipv4','one integer','marks','3405803863',NOT+'another notation of the value',False)
R('ipv4','hexadecimal parts','marks','0xCB.0x00.0x71.0x57',NOT+'another notation of the value',False)
R('ipv6','full-width colons','marks','2001：db8：85a3：：8a2e：370：7334',IMPL+'NFKC of a mark, not of a letter or digit')
R('ipv6','ratio signs','marks','2001∶db8∶85a3∶∶8a2e∶370∶7334',IMPL+'looks like a colon')
R('ipv6','modifier colons U+A789','marks','2001꞉db8꞉85a3꞉꞉8a2e꞉370꞉7334',IMPL+'looks like a colon')
R('ipv6','defanged','marks','2001[:]db8[:]85a3[:][:]8a2e[:]370[:]7334',IMPL+'usual in security reports')
R('ipv6','ipv6-literal.net form','marks','2001-db8-85a3--8a2e-370-7334.ipv6-literal.net',NOT+'Windows UNC notation',False)
R('email','full-width at','marks','jane.roe＠example.org',IMPL+'NFKC of a mark, not of a letter or digit')
R('email','small commercial at U+FE6B','marks','jane.roe﹫example.org',IMPL+'NFKC of a mark, not of a letter or digit')
R('email','full-width dot','marks','jane.roe@example．org',IMPL+'NFKC of a mark, not of a letter or digit')
R('email','ideographic full stop','marks','jane.roe@example。org',IMPL+'IDNA maps it to a dot')
R('email','(at)','marks','jane.roe(at)example.org',NOT+'spelled mark',False)
R('email','[at] and [dot]','marks','jane.roe[at]example[dot]org',NOT+'spelled mark',False)
R('email','at and dot as words','marks','jane dot roe at example dot org',NOT+'spelled mark',False)
R('email','defanged dot','marks','jane.roe@example[.]org',IMPL+'usual in security reports')
R('email','defanged at','marks','jane.roe[@]example.org',IMPL+'usual in security reports')
for s,x in [('buy','_'),('returns','_'),('stop','.'),('waive','/'),('abroad','_'),('buy','…'),('returns','/'),('stop',', '),('buy','. ')]:
    R(s,f'words parted by {x!r}','marks',CANON[s].replace(' ',x),(IMPL+'a reader sees the phrase') if x in '_/…' else NOT+'a mark that parts sentences',x in '_/…')
R('buy','quotes inside','marks','you "should" buy',IMPL+'a reader sees the phrase')
R('buy','brackets inside','marks','you (should) buy',IMPL+'a reader sees the phrase')
R('waive','quotes inside','marks','waive “privilege”',IMPL+'a reader sees the phrase')
R('confidential','ampersand','marks','Privileged & Confidential',IMPL+'usual heading; the sign is the word and')
R('confidential','slash','marks','Privileged/Confidential',NOT+'another phrase',False)

# ---------------------------------------------------------------- invisible
DI=[0xAD,0x34F,0x61C,0x115F,0x1160,0x17B4,0x17B5,0x180B,0x180E,0x200B,0x200C,0x200D,0x200E,0x200F,0x202A,0x202C,0x202D,0x2060,0x2061,0x2062,0x2063,0x2064,0x2066,0x2069,0x206A,0x206F,0x3164,0xFE00,0xFE0E,0xFE0F,0xFEFF,0xFFA0,0xFFF0,0x1BCA0,0x1D173,0xE0001,0xE0020,0xE0041,0xE007F,0xE0100,0xE01EF]
for c in DI:
    R('card',f'U+{c:04X} behind each group (no space)','invisible',chr(c).join(['4012','8888','8888','1881']),NAMED+'Default_Ignorable_Code_Point')
allsec=['email','iban','phone','ssn','ipv4','ipv6','card15','privilege','returns','buy','stop','waive','abroad']
inv=[0x200B,0xAD,0x200C,0x200D,0x2060,0xFEFF,0xFE0F,0x34F,0x200E,0xE0041,0x2063,0x3164,0x180E]
for k,s in enumerate(allsec):
    for j in (0,4,7):
        c=inv[(k+j)%len(inv)]; t=CANON[s]; m=len(t)//2
        if j==0: w=t[:m]+chr(c)+t[m:]; f='once in the middle'
        elif j==4: w=chr(c).join(t); f='between all characters'
        else: w=re.sub(r'([ .:@-])',lambda q:chr(c)+q.group(1)+chr(c),t); f='on both sides of each mark'
        R(s,f'U+{c:04X} {f}','invisible',w,NAMED+'Default_Ignorable_Code_Point')
R('card','ignorable characters and spaces','invisible','4012\u200b \u200b8888 \u200b8888\u200b 1881',NAMED+'removed, then runs collapsed')
R('card','space, ignorable, space','invisible','4012 \u200b 8888 \u200b 8888 \u200b 1881',NAMED+'removed, then runs collapsed')
R('buy','space, ignorable, space','invisible','you \u200b should \u200b buy',NAMED+'removed, then runs collapsed')
R('buy','zero width space for the space','invisible','you\u200bshould\u200bbuy',IMPL+'a line-break opportunity without a visible space; a reader may see three words')
R('card','left-to-right isolate round each group','invisible','\u20664012\u2069 \u20668888\u2069 \u20668888\u2069 \u20661881\u2069',NAMED+'Default_Ignorable_Code_Point')
R('card','embedded left-to-right','invisible','\u202a4012 8888 8888 1881\u202c',NAMED+'Default_Ignorable_Code_Point')
R('card','twenty ignorable characters between groups','invisible',('\u200b'*20).join(['4012','8888','8888','1881']),NAMED+'Default_Ignorable_Code_Point')
R('card','eighty ignorable characters between digits','invisible',('\u2060'*80).join('4012888888881881'),NOT+'longer than the 1,024 original bytes that the rules name: 3,600 bytes',False)
R('buy','fifty ignorable characters between words','invisible','you'+'\u200d'*50+' should'+'\u200d'*50+' buy',NAMED+'Default_Ignorable_Code_Point')
R('card','right-to-left override, digits reversed','invisible','\u202e1881 8888 8888 2104\u202c',NOT+'reversed bytes; a display shows the number',False)
R('card','braille blank U+2800','invisible',sep('card','\u2800'),IMPL+'blank on screen; neither space nor ignorable')
R('buy','braille blank U+2800','invisible','you\u2800should\u2800buy',IMPL+'blank on screen; neither space nor ignorable')
R('card','musical null notehead U+1D159','invisible',sep('card','\U0001d159'),IMPL+'blank on screen; neither space nor ignorable')
R('card','interlinear annotation U+FFF9','invisible',sep('card','\ufff9'),IMPL+'Cf that is not Default_Ignorable')
R('card','zero byte U+0000','invisible',sep('card','\0'),IMPL+'control character without a shape')
R('card','unit separator U+001F','invisible',sep('card','\x1f'),IMPL+'control character without a shape')
R('card','C1 control U+0081','invisible',sep('card','\x81'),IMPL+'control character without a shape')
R('card','delete U+007F','invisible',sep('card','\x7f'),IMPL+'control character without a shape')
R('card','ANSI colour codes','invisible','\x1b[1m4012\x1b[0m \x1b[1m8888\x1b[0m 8888 1881',IMPL+'a terminal shows the number')
R('buy','ANSI colour codes','invisible','you \x1b[31mshould\x1b[0m buy',IMPL+'a terminal shows the phrase')
R('card','backspaces','invisible','40x\b12 8888 8888 1881',NOT+'a terminal shows the number',False)
R('card','combining strokes over digits','invisible',''.join(c+'\u0336' if c!=' ' else c for c in CANON['card']),IMPL+'struck out, readable')
R('card','combining acute over digits','invisible',''.join(c+'\u0301' if c!=' ' else c for c in CANON['card']),IMPL+'marks above, readable')
R('buy','combining marks on letters','invisible',''.join(c+'\u0332' if c!=' ' else c for c in CANON['buy']),IMPL+'underlined with U+0332, readable')
R('buy','accents','invisible','yóu shóuld búy',NOT+'other letters; prototypes are two characters',False)
R('card','hidden in tag characters','invisible',''.join(chr(0xE0000+ord(c)) for c in '4012888888881881'),NOT+'a reader sees nothing; a decoder does',False)
R('card','object replacement between groups','invisible',sep('card','\ufffc'),IMPL+'neither space nor ignorable')
R('card','private use between groups','invisible',sep('card','\ue000'),NOT+'a font decides what is seen',False)

# ---------------------------------------------------------------- compatibility forms and other digits
def tr(s,base): return ''.join(chr(base+ord(c)-48) if c.isdigit() and c.isascii() else c for c in s)
fw=lambda s:''.join(chr(ord(c)+0xFEE0) if '!'<=c<='~' else c for c in s)
fwd=lambda s:''.join(chr(ord(c)+0xFEE0) if c.isalnum() else c for c in s)
for s in ['card','card15','iban','phone','ssn','ipv4','ipv6','email']:
    R(s,'full-width letters and digits','compat',fwd(CANON[s]),NAMED+'NFKC of letters and digits')
R('card','full-width, ideographic spaces','compat',fwd(CANON['card']).replace(' ','\u3000'),NAMED+'NFKC and Unicode spaces')
R('card','full-width, full-width hyphens','compat',fwd(CANON['card']).replace(' ','－'),NAMED+'NFKC and Unicode dashes')
R('phone','all full-width','compat',fw(CANON['phone']),IMPL+'plus sign is a mark')
R('email','all full-width','compat',fw(CANON['email']),IMPL+'at and dot are marks')
R('ipv6','all full-width','compat',fw(CANON['ipv6']),IMPL+'colon is a mark')
R('card','one digit full-width','compat','4012 8888 8８88 1881',NAMED+'NFKC of letters and digits')
for b,n in [(0x1D7CE,'bold'),(0x1D7D8,'double-struck'),(0x1D7E2,'sans-serif'),(0x1D7EC,'sans-serif bold'),(0x1D7F6,'monospace'),(0x1FBF0,'segmented')]:
    R('card',f'{n} digits','compat',tr(CANON['card'],b),NAMED+'NFKC of digits; note that UTS #39 alone would give O and l')
for s,b in [('ssn',0x1D7CE),('phone',0x1D7EC),('ipv4',0x1D7F6),('card15',0x1D7D8),('iban',0x1D7E2)]:
    R(s,'mathematical digits','compat',tr(CANON[s],b),NAMED+'NFKC of digits')
circ={**{str(i):chr(0x2460+i-1) for i in range(1,10)},'0':'\u24ea'}
R('card','circled digits','compat',''.join(circ.get(c,c) for c in CANON['card']),NAMED+'NFKC of circled digits')
R('ssn','circled digits','compat',''.join(circ.get(c,c) for c in CANON['ssn']),NAMED+'NFKC of circled digits')
neg={**{str(i):chr(0x2776+i-1) for i in range(1,10)},'0':'\u24ff'}
R('card','negative circled digits','compat',''.join(neg.get(c,c) for c in CANON['card']),IMPL+'no NFKC form; Numeric_Value says the digit')
R('card','parenthesised digits','compat',''.join({**{str(i):chr(0x2474+i-1) for i in range(1,10)},'0':'(0)'}.get(c,c) for c in CANON['card']),NOT+'NFKC gives brackets',False)
R('card','digits with full stop','compat',''.join({**{str(i):chr(0x2488+i-1) for i in range(1,10)},'0':'\U0001f100'}.get(c,c) for c in CANON['card']),NOT+'NFKC gives dots',False)
R('card','keycap emoji','compat',''.join(c+'\ufe0f\u20e3' if c!=' ' else c for c in CANON['card']),IMPL+'U+FE0F is ignorable, U+20E3 is an enclosing mark')
R('card','keycap emoji glued','compat',''.join(c+'\ufe0f\u20e3' for c in digits(CANON['card'])),IMPL+'U+FE0F is ignorable, U+20E3 is an enclosing mark')
R('phone','keycap emoji','compat',''.join(c+'\ufe0f\u20e3' if c.isdigit() else c for c in CANON['phone']),IMPL+'U+FE0F is ignorable, U+20E3 is an enclosing mark')
R('card','digits with emoji variation selector','compat',''.join(c+'\ufe0f' if c!=' ' else c for c in CANON['card']),NAMED+'U+FE0F is ignorable')
R('card','digits in enclosing circles U+20DD','compat',''.join(c+'\u20dd' if c!=' ' else c for c in CANON['card']),IMPL+'an enclosing mark, readable')
R('card','superscripts','compat',CANON['card'].translate(str.maketrans('0123456789','⁰¹²³⁴⁵⁶⁷⁸⁹')),NOT+'superscripts stay, by name',False)
R('card','subscripts','compat',CANON['card'].translate(str.maketrans('0123456789','₀₁₂₃₄₅₆₇₈₉')),NOT+'subscripts stay, by name',False)
ND=[('Arabic-Indic',0x660),('Extended Arabic-Indic',0x6F0),('Nko',0x7C0),('Devanagari',0x966),('Bengali',0x9E6),('Gurmukhi',0xA66),('Gujarati',0xAE6),('Oriya',0xB66),('Tamil',0xBE6),('Telugu',0xC66),('Kannada',0xCE6),('Malayalam',0xD66),('Thai',0xE50),('Lao',0xED0),('Tibetan',0xF20),('Myanmar',0x1040),('Khmer',0x17E0),('Mongolian',0x1810),('Limbu',0x1946),('New Tai Lue',0x19D0),('Balinese',0x1B50),('Javanese',0xA9D0),('Osmanya',0x104A0),('Brahmi',0x11066),('Chakma',0x11136),('Adlam',0x1E950)]
for n,b in ND:
    assert unicodedata.digit(chr(b))==0 and unicodedata.digit(chr(b+9))==9
    R('card',f'{n} digits','scripts',tr(CANON['card'],b),IMPL+'General_Category Nd has a decimal value; UTS #39 gives another character for some')
for s,b in [('phone',0x660),('ssn',0x966),('ipv4',0x6F0),('card15',0xE50),('iban',0x9E6),('phone',0x966),('ipv6',0x660)]:
    R(s,'digits of another script','scripts',tr(CANON[s],b),IMPL+'General_Category Nd has a decimal value')
R('card','two scripts mixed','scripts',tr('4012 8888',0x660)+' 8888 1881',IMPL+'General_Category Nd has a decimal value')
R('card','Arabic prose, Arabic digits','scripts','٤٠١٢ ٨٨٨٨ ٨٨٨٨ ١٨٨١',IMPL+'General_Category Nd has a decimal value',before='رقم البطاقة ',after=' صالح.')
R('card','Hindi prose, Devanagari digits','scripts','४०१२ ८८८८ ८८८८ १८८१',IMPL+'General_Category Nd has a decimal value',before='कार्ड नंबर ',after=' है।')
R('card','Han numerals','scripts','四〇一二 八八八八 八八八八 一八八一',NOT+'numerals that are letters',False)
R('card','Han financial numerals','scripts','肆零壹贰捌捌捌捌捌捌捌捌壹捌捌壹',NOT+'numerals that are letters',False)
R('card','Suzhou numerals','scripts','〤〇〡〢〨〨〨〨〨〨〨〨〡〨〨〡',NOT+'numerals that are letters',False)
def alpha(s,up,lo,dg=None,exc={}):
    o=''
    for c in s:
        if c in exc:o+=exc[c]
        elif 'A'<=c<='Z':o+=chr(up+ord(c)-65)
        elif 'a'<=c<='z':o+=chr(lo+ord(c)-97)
        elif c.isdigit() and dg:o+=chr(dg+ord(c)-48)
        else:o+=c
    return o
for n,up,lo,dg,exc in [('bold',0x1D400,0x1D41A,0x1D7CE,{}),('italic',0x1D434,0x1D44E,None,{'h':'ℎ'}),('bold script',0x1D4D0,0x1D4EA,None,{}),('fraktur bold',0x1D56C,0x1D586,None,{}),('double-struck',0x1D538,0x1D552,0x1D7D8,{'P':'ℙ','N':'ℕ','R':'ℝ'}),('sans bold',0x1D5D4,0x1D5EE,0x1D7EC,{}),('monospace',0x1D670,0x1D68A,0x1D7F6,{}),('circled',0x24B6,0x24D0,None,{})]:
    for s in {'bold':['buy','email'],'italic':['returns','stop'],'bold script':['waive','email'],'fraktur bold':['buy','abroad'],'double-struck':['privilege','ipv6'],'sans bold':['returns','iban'],'monospace':['stop','email','ipv6'],'circled':['buy','waive']}[n]:
        R(s,f'{n} letters','compat',alpha(CANON[s],up,lo,dg,exc),NAMED+'NFKC of letters and digits')
R('returns','full-width letters','compat',fwd(CANON['returns']),NAMED+'NFKC of letters')
R('buy','full-width letters and ideographic spaces','compat',fwd(CANON['buy']).replace(' ','\u3000'),NAMED+'NFKC of letters, Unicode spaces')
R('buy','squared capital letters','compat',''.join(chr(0x1F130+ord(c)-65) if c.isalpha() else c for c in 'YOU SHOULD BUY'),NAMED+'NFKC of squared letters')
R('buy','negative squared capital letters','compat',''.join(chr(0x1F170+ord(c)-65) if c.isalpha() else c for c in 'YOU SHOULD BUY'),IMPL+'no NFKC form; readable')
R('buy','negative circled capital letters','compat',''.join(chr(0x1F150+ord(c)-65) if c.isalpha() else c for c in 'YOU SHOULD BUY'),IMPL+'no NFKC form; readable')
R('buy','regional indicators','compat',' '.join('\u200b'.join(chr(0x1F1E6+ord(c)-65) for c in w) for w in ['YOU','SHOULD','BUY']),NOT+'emoji flags',False)
R('buy','parenthesised letters','compat',alpha('you should buy',0x1F110,0x249C),NOT+'NFKC gives brackets',False)
R('stop','small capitals','compat','ꜱᴛᴏᴘ ᴛᴀᴋɪɴɢ',IMPL+'small capitals; only some have a UTS #39 prototype')
R('buy','superscript letters','compat','ʸᵒᵘ ˢʰᵒᵘˡᵈ ᵇᵘʸ',NOT+'superscripts stay, by name',False)
R('stop','ligature st U+FB06','compat','ﬆop taking',NAMED+'NFKC of a letter')
R('confidential','ligature fi U+FB01','compat','privileged and conﬁdential',NAMED+'NFKC of a letter')
R('buy','long s','compat','you ſhould buy',NAMED+'NFKC of a letter')
R('stop','Kelvin sign','compat','stop ta\u212aing',NAMED+'canonical form of a letter')
R('returns','upper case','compat','GUARANTEED RETURNS',NAMED+'plain form, case')
R('buy','mixed case','compat','yOu ShOuLd BuY',NAMED+'plain form, case')
R('iban','lower case','compat','gb82 west 1234 5698 7654 32',NAMED+'plain form, case')
R('email','upper case','compat','JANE.ROE@EXAMPLE.ORG',NAMED+'plain form, case')
R('ipv6','upper case','compat','2001:DB8:85A3::8A2E:370:7334',NAMED+'plain form, case')
R('phone','telephone sign U+2121 beside glued digits','compat','2025550143',IMPL+'NFKC of the sign is TEL, a near word',before='℡ ')
R('buy','upside down','compat','ʎnq plnoɥs noʎ',NOT+'reversed letters',False)

# ---------------------------------------------------------------- look-alikes
INV={}
for k,v in PROTO.items(): INV.setdefault(v,[]).append(k)
def pick(lo,hi):
    return {v:c for v,l in INV.items() for c in [next((x for x in l if lo<=ord(x)<=hi),None)] if c}
CYR=pick(0x400,0x4ff)|pick(0x500,0x52f)|pick(0x400,0x45f); GRK=pick(0x370,0x3ff); ARM=pick(0x530,0x58f); CHE=pick(0x13a0,0x13ff)|pick(0xab70,0xabbf); LISU=pick(0xa4d0,0xa4ff); COP=pick(0x2c80,0x2cff); CAS=pick(0x1400,0x167f); IPA=pick(0x180,0x2af); DES=pick(0x10400,0x1044f)
def look(s,m,only=None): return ''.join(m[c] if c in m and not c.isascii() is None and (only is None or c in only) else c for c in s)
for n,m,secs in [('Cyrillic',CYR,['privilege','returns','buy','stop','waive','abroad','email','iban','ipv6']),('Greek',GRK,['returns','buy','abroad','stop']),('Armenian',ARM,['buy','privilege','returns']),('Cherokee',CHE,['buy','iban','waive']),('Lisu',LISU,['iban']),('Coptic',COP,['stop','abroad','buy']),('Canadian syllabics',CAS,['abroad']),('IPA and Latin extended',IPA,['waive','privilege'])]:
    for s in secs:
        t=CANON[s]
        if s in('email',): w='jane.roe@'+look('example.org',m)
        elif s=='ipv6': w=look(t,m,'abcdef')
        elif s=='iban': w=look(t,m,'GBWEST')
        else: w=look(t,m)
        if n in('Lisu',) : pass
        if w==t: w=look(t.upper(),m)
        assert w!=t,(n,s)
        back=''.join(PROTO.get(c,c) for c in w)
        R(s,f'{n} look-alikes','lookalike',w,NAMED+'UTS #39 prototype is one ASCII letter')
R('buy','one Cyrillic letter','lookalike','yоu should buy',NAMED+'UTS #39 prototype is one ASCII letter')
R('returns','one Greek letter','lookalike','guaranteed retυrns',NAMED+'UTS #39 prototype is one ASCII letter')
R('stop','capital Greek letters','lookalike','STΟΡ ΤΑΚΙΝG',IMPL+'capital iota has the prototype l, not I: TAKlNG')
R('waive','capital Cyrillic letters','lookalike','WАІVЕ РRІVІLЕGЕ',IMPL+'Cyrillic capital I has the prototype l, not I: WAlVE')
R('privilege','capital Cyrillic letters, without I','lookalike','АТТОRNЕУ-СLIЕNТ РRIVILЕGЕ',NAMED+'UTS #39 prototype is one ASCII letter')
R('email','Cyrillic local part','lookalike','jаnе.rое@example.org',NAMED+'caught in the first view')
R('email','Cyrillic in the top-level domain','lookalike','jane.roe@example.оrg',NAMED+'UTS #39 prototype is one ASCII letter')
R('email','Greek omicron in the domain','lookalike','jane.roe@example.οrg',NAMED+'UTS #39 prototype is one ASCII letter')
R('iban','Cyrillic В and Т','lookalike','GВ82 WESТ 1234 5698 7654 32',NAMED+'UTS #39 prototype is one ASCII letter')
R('iban','Cyrillic З for 3','lookalike','GB82 WEST 12З4 5698 7654 З2',NAMED+'UTS #39 prototype is the digit 3')
R('iban_de','Cyrillic З for 3','lookalike','DE89 З704 0044 05З2 01З0 00',NAMED+'UTS #39 prototype is the digit 3')
R('iban','Cyrillic б for 6','lookalike','GB82 WEST 1234 5б98 7б54 32',NAMED+'UTS #39 prototype is the digit 6')
R('card','Cherokee Ꮞ for 4','lookalike','Ꮞ012 8888 8888 1881',NAMED+'UTS #39 prototype is the digit 4')
R('card','Latin OU Ȣ for 8','lookalike','4012 ȢȢȢȢ ȢȢȢȢ 1ȢȢ1',NAMED+'UTS #39 prototype is the digit 8')
R('card','Bengali four for 8 (looks like 8)','lookalike','4012 ৪৪৪৪ ৪৪৪৪ 1৪৪1',NAMED+'UTS #39 prototype is the digit 8, though its value is 4')
R('card','Latin tone two Ƨ for 2','lookalike','401Ƨ 8888 8888 1881',NAMED+'UTS #39 prototype is the digit 2')
R('card16b','Latin tone five Ƽ for 5','lookalike','ƼƼƼƼ ƼƼƼƼ ƼƼƼƼ 4444',NAMED+'UTS #39 prototype is the digit 5')
R('card','Cyrillic О for 0','lookalike','4О12 8888 8888 1881',NOT+'the prototype is the letter O, not the digit',False)
R('card','palochka Ӏ for 1','lookalike','40Ӏ2 8888 8888 Ӏ88Ӏ',NOT+'the prototype is the letter l, not the digit',False)
R('card','ideographic zero for 0','lookalike','4〇12 8888 8888 1881',NOT+'the prototype is the letter O, not the digit',False)
R('card','ASCII letters O and l','lookalike','4Ol2 8888 8888 l88l',NOT+'ASCII is never remapped, by name',False)
R('card','ASCII letter B for 8','lookalike','4012 BBBB BBBB 1BB1',NOT+'ASCII is never remapped, by name',False)
R('buy','leetspeak','lookalike','y0u sh0uld buy',NOT+'ASCII is never remapped, by name',False)
R('returns','dollar and digits','lookalike','gu4r4nt33d r3turn$',NOT+'ASCII is never remapped, by name',False)
R('buy','rn for m is ASCII; vv for w','lookalike','you shou1d buy',NOT+'ASCII is never remapped, by name',False)
R('ssn','Cyrillic near word','lookalike','219 09 9999',NAMED+'near words are read in the second view too',before='Her ЅЅN is ')
R('ssn','full-width near word','lookalike','219 09 9999',NAMED+'near words are read in the second view too',before='Her ＳＳＮ is ')
R('phone','near word with soft hyphen','lookalike','202 555 0143',NAMED+'near words are read in the second view too',before='Her tele\u00adphone is ')
R('ipv6','Cyrillic а, с, е','lookalike','2001:db8:85а3::8а2е:370:7334',NAMED+'UTS #39 prototype is one ASCII letter')
R('ipv6','Cyrillic soft sign for b','lookalike','2001:dЬ8:85a3::8a2e:370:7334',NAMED+'UTS #39 prototype is one ASCII letter')
R('person','Cyrillic А','lookalike','Аna Beispiel',NAMED+'UTS #39 prototype is one ASCII letter')

# ---------------------------------------------------------------- Markdown
md=[('card','**4012** 8888 8888 1881','bold first group',1),('card','4012 **8888 8888** 1881','bold inside',1),('card','**4012 8888 8888 1881**','bold whole',1),('card','*4012* *8888* *8888* *1881*','each group italic',1),('card','_4012_ _8888_ _8888_ _1881_','each group italic with underscores',1),('card','__4012__ __8888__ __8888__ __1881__','each group bold with underscores',1),('card','***4012*** 8888 8888 1881','bold italic',1),('card','`4012` `8888` `8888` `1881`','each group a code span',1),('card','`4012 8888 8888 1881`','whole a code span',1),('card','``4012 8888`` ``8888 1881``','double ticks',1),('card','~~4012~~ 8888 8888 1881','struck out group',2),('card','==4012== 8888 8888 1881','highlighted group',2),('card','4012**8888**8888**1881**','emphasis without spaces',1),('card','40**12** 88*88* 8888 1881','emphasis inside a group',1),('card','| 4012 | 8888 | 8888 | 1881 |','table row',1),('card','|4012|8888|8888|1881|','table row without spaces',1),('card','4012 | 8888 | 8888 | 1881','table row without outer pipes',1),('card','| 4012 |\n| 8888 |\n| 8888 |\n| 1881 |','table column',2),('card','│ 4012 │ 8888 │ 8888 │ 1881 │','box drawing bars (prototype l)',2),('card','\n- 4012\n- 8888\n- 8888\n- 1881','bullet list',1),('card','\n* 4012\n* 8888\n* 8888\n* 1881','star list',1),('card','\n+ 4012\n+ 8888\n+ 8888\n+ 1881','plus list',1),('card','\n• 4012\n• 8888\n• 8888\n• 1881','bullet signs',1),('card','\n1. 4012\n2. 8888\n3. 8888\n4. 1881','numbered list',0),('card','\n> 4012\n> 8888\n> 8888\n> 1881','block quote lines',1),('card','\n```\n4012 8888 8888 1881\n```\n','code fence',1),('card','\n```\n4012\n8888\n8888\n1881\n```\n','code fence, one group a line',1),('card','\n    4012 8888 8888 1881\n','indented code',1),('card','[4012 8888 8888 1881](/x)','link text',1),('card','4012 [8888](/x) 8888 1881','link on one group',2),('card','[4012][a] [8888][a] [8888][a] [1881][a]','reference links',2),('card','![4012 8888 8888 1881](x.png)','image text',1),('card','4012\\ 8888\\ 8888\\ 1881','escaped spaces',2),('card','4012\\-8888\\-8888\\-1881','escaped dashes',2),('card','4012[^1] 8888 8888 1881','footnote mark inside',2),('card','# 4012\n# 8888\n# 8888\n# 1881','four headings',0),('card','- [ ] 4012\n- [ ] 8888\n- [ ] 8888\n- [x] 1881','task list',0),
('card15','**3782** 822463 10005','bold first group',1),('card15','| 3782 | 822463 | 10005 |','table row',1),
('email','jane.roe\\@example.org','escaped at',2),('email','jane\\.roe@example\\.org','escaped dots',2),('email','<jane.roe@example.org>','autolink',1),('email','[mail](mailto:jane.roe@example.org)','link target',1),('email','**jane.roe**@example.org','bold local part',1),('email','jane.roe@**example.org**','bold domain',1),('email','jane.roe@`example.org`','domain in a code span',1),('email','`jane.roe`@`example`.`org`','each part a code span',1),('email','jane.roe@_example_.org','italic in the domain',1),('email','jane.roe | @ | example.org','table cells',2),('email','jane.roe**@**example.org','bold at',1),('email','jane.roe@example**.**org','bold dot',1),
('iban','**GB82** WEST 1234 5698 7654 32','bold first group',1),('iban','`GB82` `WEST` `1234` `5698` `7654` `32`','code spans',1),('iban','| GB82 | WEST | 1234 | 5698 | 7654 | 32 |','table row',1),('iban','*GB82 WEST* 1234 *5698 7654* 32','italics',1),('iban','\n- GB82\n- WEST\n- 1234\n- 5698\n- 7654\n- 32','bullet list',1),
('phone','**+1** 202-555-0143','bold country code',1),('phone','+1 `202`-`555`-`0143`','code spans',1),('phone','+1 **202**-555-**0143**','bold groups',1),('phone','| +1 | 202 | 555 | 0143 |','table row',1),('phone','+1 (**202**) 555-0143','bold in brackets',1),('phone','\\+1 202\\-555\\-0143','escaped marks',2),
('ssn','**219**-09-9999','bold first group',1),('ssn','219-**09**-9999','bold middle group',1),('ssn','`219`-`09`-`9999`','code spans',1),('ssn','| 219 | 09 | 9999 |','table row',1),('ssn','219\\-09\\-9999','escaped dashes',2),('ssn','*219-09*-9999','italic part',1),
('ipv4','**203**.0.113.87','bold first part',1),('ipv4','203.0.`113`.87','code span',1),('ipv4','203\\.0\\.113\\.87','escaped dots',2),('ipv4','`203.0.113.87`','whole a code span',1),('ipv4','203.*0*.113.*87*','italic parts',1),
('ipv6','**2001**:db8:85a3::8a2e:370:7334','bold first part',1),('ipv6','`2001:db8:85a3`::`8a2e:370:7334`','code spans',1),('ipv6','2001:db8:*85a3*::8a2e:370:7334','italic part',1),('ipv6','2001\\:db8\\:85a3\\:\\:8a2e\\:370\\:7334','escaped colons',2),
('buy','you **should** buy','bold word',1),('buy','*you* should *buy*','italic words',1),('buy','you should `buy`','code span',1),('buy','you ~~should~~ buy','struck out word',2),('buy','| you | should | buy |','table row',1),('buy','you should [buy](/x)','link on a word',2),('buy','**you should** **buy**','two bolds',1),('buy','you sho**uld** buy','bold inside a word',1),('buy','you _should_ buy','underscores',1),('buy','\n- you\n- should\n- buy','bullet list',1),
('returns','**guaranteed** returns','bold word',1),('returns','guaranteed *returns*','italic word',1),('returns','`guaranteed` `returns`','code spans',1),('returns','guaran*teed* returns','italic inside a word',1),('returns','| guaranteed | returns |','table row',1),('returns','[guaranteed](x) [returns](y)','links',2),
('stop','**stop** taking','bold word',1),('stop','stop __taking__','bold word',1),('stop','***stop*** taking','bold italic',1),('waive','waive **privilege**','bold word',1),('waive','`waive` privilege','code span',1),('waive','waive[^2] privilege','footnote mark',2),('privilege','attorney-client **privilege**','bold word',1),('privilege','**attorney**-**client** privilege','bold parts',1),('privilege','attorney\\-client privilege','escaped hyphen',2),('abroad','transfer *abroad*','italic word',1),('abroad','**transfer** **abroad**','bold words',1),('abroad','transfer [abroad][1]','reference link',2),('abroad','transfer\n> abroad','block quote',1)]
for s,w,f,k in md:
    R(s,f,'markdown',w,{1:NAMED+'Markdown emphasis, code ticks, pipes, bullets removed',2:IMPL+'other Markdown (CommonMark, GFM) that a reader does not see',0:NOT+'a structure with other characters between the groups'}[k],k!=0)

# ---------------------------------------------------------------- HTML
h=[('card',sep('card','&nbsp;'),'named entity nbsp',1),('card',sep('card','&#160;'),'decimal entity',1),('card',sep('card','&#xA0;'),'hexadecimal entity',1),('card',sep('card','&#x00a0;'),'padded hexadecimal entity',1),('card',sep('card','&thinsp;'),'named entity thinsp',1),('card',sep('card','&ensp;'),'named entity ensp',1),('card',sep('card','&ndash;'),'named entity ndash',1),('card',sep('card','&#8209;'),'decimal entity of U+2011',1),('card',sep('card','&shy;'),'named entity shy',1),('card',sep('card','&zwnj;'),'named entity zwnj',1),('card',sep('card','&#8203;'),'decimal entity of U+200B',1),('card',sep('card','&ZeroWidthSpace;'),'long named entity',1),('card',sep('card','&Tab;'),'named entity Tab',1),('card',sep('card','&NewLine;'),'named entity NewLine',1),('card',sep('card','&nbsp'),'nbsp without semicolon',2),('card',''.join(f'&#{ord(c)};' for c in '4012888888881881'),'every digit a decimal entity',1),('card',''.join(f'&#x{ord(c):x};' for c in CANON['card']),'every character a hexadecimal entity',1),('card',''.join(f'&#{ord(c):07d};' for c in '4012888888881881'),'zero-padded entities',1),('card',''.join(f'&#{ord(c)}' for c in '4012888888881881'),'entities without semicolon',2),('card',''.join(f'&#{0x1D7CE+int(c)};' for c in '4012888888881881'),'entities of mathematical digits',1),('card',''.join(f'&#{0xFF10+int(c)};' for c in '4012888888881881'),'entities of full-width digits',1),
('card','<b>4012</b> 8888 8888 1881','bold tag',1),('card','<b>4012</b><i>8888</i><b>8888</b><i>1881</i>','tags without spaces',1),('card','4012<wbr>8888<wbr>8888<wbr>1881','wbr',1),('card','4012<br>8888<br>8888<br>1881','br',1),('card','4012<br/>8888<br />8888<BR>1881','br in three spellings',1),('card','4012<!-- a -->8888<!-- b -->8888<!---->1881','comments',2),('card','4012<!-- > 99 -->8888 8888 1881','comment with a greater-than sign',2),('card',''.join(f'<span>{c}</span>' for c in '4012888888881881'),'every digit a span',1),('card','<td>4012</td><td>8888</td><td>8888</td><td>1881</td>','table cells',1),('card','<tr><td>4012</td>\n<td>8888</td>\n<td>8888</td>\n<td>1881</td></tr>','table cells over lines',1),('card','<li>4012</li><li>8888</li><li>8888</li><li>1881</li>','list items',1),('card','<span class="n" data-i="1">4012</span> <span style=\'color:red\'>8888</span> 8888 1881','tags with attributes',1),('card','<span title="a > b">4012</span>8888 8888 1881','attribute with a greater-than sign',2),('card','<b\n>4012</b\n> 8888 8888 1881','tag over two lines',2),('card','<input value="4012 8888 8888 1881">','attribute value',2),('card','<a href="/?c=4012888888881881">pay</a>','attribute value, URL',2),('card','<!-- 4012 8888 8888 1881 -->','inside a comment',2),('card','<![CDATA[4012]]><![CDATA[8888]]> 8888 1881','CDATA',2),('card','4012<sup>8888</sup>8888 1881','superscript tag',1),('card','4012<span hidden>77</span>8888 8888 1881','hidden text inside',0),('card','4012&amp;nbsp;8888&amp;nbsp;8888&amp;nbsp;1881','escaped twice',0),('card','%34%30%31%32%38%38%38%38%38%38%38%38%31%38%38%31','percent-encoded digits',0),('card','4012%208888%208888%201881','percent-encoded spaces',0),('card','4012+8888+8888+1881','plus for space in a query',2),('card','4012%C2%A08888%C2%A08888%C2%A01881','percent-encoded no-break spaces',0),('card','<svg><text>4012</text><text>8888</text><text>8888</text><text>1881</text></svg>','SVG text',1),
('email','jane.roe&#64;example.org','decimal entity at',1),('email','jane.roe&#x40;example.org','hexadecimal entity at',1),('email','jane.roe&commat;example.org','named entity at',1),('email','jane.roe@example&period;org','named entity dot',1),('email','jane.roe@example&#46;org','decimal entity dot',1),('email','jane.roe<b>@</b>example.org','tag round at',1),('email','jane.roe@<!-- x -->example.org','comment',2),('email','jane.roe@<span>example</span>.org','tag in the domain',1),('email',''.join(f'&#{ord(c)};' for c in CANON['email']),'every character an entity',1),('email','jane.roe%40example.org','percent-encoded at',0),('email','<a href="mailto:jane.roe@example.org">mail</a>','mailto link',1),('email','<a href="mailto:jane.roe%40example.org">mail</a>','mailto link, percent-encoded',0),('email','jane.roe@<wbr>example.org','wbr',1),('email','jane.roe&ZeroWidthSpace;@example.org','long named entity',1),
('iban',sep('iban','&nbsp;'),'named entity nbsp',1),('iban','<b>GB82</b> WEST <i>1234</i> 5698 7654 32','tags',1),('iban','GB82<br>WEST<br>1234<br>5698<br>7654<br>32','br',1),('iban','&#71;&#66;82 WEST 1234 5698 7654 32','entities for letters',1),
('phone','&plus;1 202-555-0143','named entity plus',1),('phone','&#43;1&nbsp;202&#8209;555&#8209;0143','entities',1),('phone','+1 <b>202</b>-555-0143','tag',1),('phone','<a href="tel:+12025550143">ring</a>','tel link',2),('phone','+1&nbsp;202&ndash;555&ndash;0143','nbsp and ndash',1),
('ssn','219&ndash;09&ndash;9999','named entity ndash',1),('ssn','219&#45;09&#45;9999','decimal entity hyphen',1),('ssn','<b>219</b>-<b>09</b>-<b>9999</b>','tags',1),('ssn','219&hyphen;09&hyphen;9999','named entity hyphen (U+2010)',1),
('ipv4','203&#46;0&#46;113&#46;87','decimal entity dot',1),('ipv4','203<b>.</b>0.113.87','tag',1),('ipv4','203&period;0&period;113&period;87','named entity dot',1),('ipv4','203.0.113.<wbr>87','wbr',1),
('ipv6','2001&colon;db8&colon;85a3&colon;&colon;8a2e&colon;370&colon;7334','named entity colon',1),('ipv6','2001:db8:<b>85a3</b>::8a2e:370:7334','tag',1),('ipv6','http%3A%2F%2F%5B2001%3Adb8%3A85a3%3A%3A8a2e%3A370%3A7334%5D','percent-encoded',0),
('buy','you&nbsp;should&nbsp;buy','named entity nbsp',1),('buy','you <b>should</b> buy','tag',1),('buy','you<br>should<br>buy','br',1),('buy','you<!-- -->should<!-- -->buy','comments without spaces',2),('buy','y&#111;u should buy','entity for a letter',1),('buy','you%20should%20buy','percent-encoded spaces',0),('buy','<p>you</p><p>should</p><p>buy</p>','paragraphs',2),
('returns','guaranteed&nbsp;returns','named entity nbsp',1),('returns','<em>guaranteed</em> returns','tag',1),('returns','guaran&shy;teed returns','soft hyphen entity',1),('returns','guaranteed&#32;returns','decimal entity space',1),('stop','<strong>stop</strong> taking','tag',1),('stop','stop&#x20;taking','hexadecimal entity space',1),('stop','st<span>op</span> taking','tag inside a word',1),('waive','waive&nbsp;<u>privilege</u>','entity and tag',1),('privilege','attorney&#8209;client privilege','entity of U+2011',1),('privilege','attorney&ndash;client&nbsp;privilege','entities',1),('abroad','transfer<br>\nabroad','br and line break',1),('abroad','transfer <a href="/x">abroad</a>','link',1)]
for s,w,f,k in h:
    R(s,f,'html',w,{1:NAMED+'HTML tags and entities removed or resolved',2:IMPL+'other HTML that a reader does not see',0:NOT+'another encoding, or text that a style hides'}[k],k!=0)

# ---------------------------------------------------------------- LaTeX
l=[('card',sep('card','\\,'),'thin space command',1),('card',sep('card','~'),'tie',1),('card',sep('card','{ }'),'space in braces',1),('card',sep('card','{}'),'empty braces',1),('card',sep('card','\\ '),'control space',1),('card',sep('card','\\;'),'thick space',1),('card',sep('card','\\:'),'medium space',1),('card',sep('card','\\!'),'negative thin space',1),('card',sep('card','\\quad '),'quad',1),('card',sep('card','\\hspace{2pt}'),'hspace',2),('card',sep('card','\\thinspace '),'thinspace',1),('card',sep('card','\\enspace{}'),'enspace',1),('card',sep('card','\\allowbreak{}'),'allowbreak',2),('card','$4012$ $8888$ $8888$ $1881$','math, each group',2),('card','$4012\\,8888\\,8888\\,1881$','math, whole',1),('card','\\(4012\\ 8888\\ 8888\\ 1881\\)','math brackets',1),('card','\\text{4012} \\text{8888} \\text{8888} \\text{1881}','text command',2),('card','\\textbf{4012} 8888 8888 1881','bold command',2),('card','\\texttt{4012\\,8888\\,8888\\,1881}','typewriter',1),('card','4012{,}8888{,}8888{,}1881','braced commas',2),('card','4012 & 8888 & 8888 & 1881 \\\\','tabular row',2),('card','4012\\\\8888\\\\8888\\\\1881','line commands',2),('card','\\num{4012888888881881}','siunitx',1),('card','\\mbox{4012}\\mbox{8888}\\mbox{8888}\\mbox{1881}','mbox',2),('card','4012--8888--8888--1881','en dashes by two hyphens',2),('card','4012\\textendash 8888\\textendash 8888\\textendash 1881','textendash',2),('card','4012%\n8888%\n8888%\n1881','comment at the line end',2),
('email','jane.roe\\@example.org','escaped at',2),('email','\\texttt{jane.roe@example.org}','typewriter',1),('email','\\href{mailto:jane.roe@example.org}{mail}','href',1),('email','jane.roe{@}example.org','braced at',2),('email','\\url{jane.roe@example.org}','url',1),
('iban','GB82~WEST~1234~5698~7654~32','ties',1),('iban','GB82\\,WEST\\,1234\\,5698\\,7654\\,32','thin spaces',1),('iban','\\textsc{gb82 west} 1234 5698 7654 32','small capitals',2),
('phone','+1~202--555--0143','tie and en dashes',2),('phone','$+1$\\,202-555-0143','math sign',2),('ssn','219--09--9999','en dashes by two hyphens',2),('ssn','219{-}09{-}9999','braced hyphens',2),('ssn','219\\mbox{-}09\\mbox{-}9999','mbox hyphens',2),('ipv4','203.\\allowbreak 0.\\allowbreak 113.\\allowbreak 87','allowbreak',2),('ipv4','\\texttt{203.0.113.87}','typewriter',1),('ipv6','2001{:}db8{:}85a3{::}8a2e{:}370{:}7334','braced colons',2),('ipv6','\\url{2001:db8:85a3::8a2e:370:7334}','url',1),
('buy','you~should~buy','ties',1),('buy','you \\emph{should} buy','emph',2),('buy','you\\ should\\ buy','control spaces',1),('buy','\\text{you should buy}','text',1),('buy','you sh{}ould buy','empty braces inside a word',1),('returns','guaranteed~returns','tie',1),('returns','\\textbf{guaranteed} returns','bold command',2),('returns','guar\\-an\\-teed returns','discretionary hyphens',2),('stop','stop\\,taking','thin space',1),('stop','{\\bf stop} taking','old bold',2),('waive','waive~\\textit{privilege}','tie and italic',2),('privilege','attorney--client privilege','en dash by two hyphens',2),('privilege','attorney\\mbox{-}client~privilege','mbox hyphen',2),('abroad','transfer~abroad','tie',1),('abroad','\\underline{transfer} abroad','underline',2)]
for s,w,f,k in l:
    R(s,f,'latex',w,{1:NAMED+'LaTeX spacing removed',2:IMPL+'other LaTeX that a reader of the printed text does not see'}[k])

# ---------------------------------------------------------------- adjacency
C='4012 8888 8888 1881'; G='4012888888881881'
ADJ=[('card',C,'My card ',' 123 is new.','security code behind a space',1),('card',C,'My card ',', 123, is new.','security code behind a comma',1),('card',C,'My card ','-737 is new.','security code behind a dash',1),('card',C,'My card ',' 12/27 is new.','expiry',1),('card',C,'My card ',' 12/2027 is new.','expiry, four-digit year',1),('card',C,'My card ',' 1227 is new.','expiry glued',1),('card',C,'My card ',' 12 27 123 is new.','expiry and code',1),('card',C,'My card ',' 12-27 is new.','expiry with a dash',1),('card',C,'My card ',' 12/27 123 is new.','expiry and code',1),('card',C,'My card ',' (123) is new.','code in brackets',1),('card',C,'My card ',' cvv 123 is new.','code behind a word',1),('card',C,'My card ',' 20271231 is new.','date behind',1),('card',C,'My card ',' 10115 Berlin is new.','postcode behind',1),('card',C,'123 ',' is new.','code before',1),('card',C,'12/27 ',' is new.','expiry before',1),('card',C,'1 ',' is new.','list number without a dot',1),('card',C,'2 of 3: 07 ',' is new.','small number before',1),('card',C,'2024-05-01 ',' was declined.','date before',1),('card',C,'2024-05-01 10:22:03 ',' was declined.','timestamp before',1),('card',C,'1714557723 ',' was declined.','Unix time before',1),('card',C,'10115 ',' was declined.','postcode before',1),('card',C,'100 200 300 ',' 400 500 600','figures on both sides',1),('card',C,'9999 ',' 9999','groups of four on both sides',1),('card',C,'0000 0000 ',' 0000 0000 0000','groups of four on both sides, more',1),('card',G,'My card ','123 is new.','code glued (19 digits)',1),('card',G,'My card ','1227 is new.','expiry glued (20 digits)',1),('card',G,'My card ','1227123 is new.','expiry and code glued (23 digits)',1),('card',G,'My card ','-1227-123 is new.','expiry and code behind dashes',1),('card',G,'My card ',' 123 is new.','glued number, code behind a space',1),('card',G,'%B','^ROE/JANE^2712101123400?','magnetic stripe track 1',1),('card',G,';','=27121011234000?','magnetic stripe track 2',1),('card',G,'card_','_x','underscores round the number',1),('card',G,'CardX',' is new.','letter before (letters = any)',1),('card',G,'card','',' word glued before'.strip(),1),('card',G,'id','abc','letters on both sides',1),('card',G,'My card ','abc is new.','letters behind',1),('card',G,'My card ','x is new.','letter behind',1),('card',G,'v','','version letter before',1),('card',G,'#',' is new.','hash before',1),('card',G,'№',' is new.','numero sign before (NFKC No)',1),('card',G,'$',' is new.','dollar before',1),('card',G,'€',' is new.','euro before',1),('card',G,'卡号','已停用。','CJK neighbours',1),('card',C,'カード番号は','です。','Japanese neighbours',1),('card',C,'카드번호','입니다','Korean neighbours',1),('card',C,'карта','действует','Cyrillic neighbours glued',1),('card',C,'é','é','accented letters glued',1),('card',C,'│','│','box drawing neighbours (prototype l)',1),('card',C,'ا','ا','Arabic letter neighbours (prototype l)',1),('card',C,'💳','💳','emoji neighbours',1),('card',C,'"','"','quotes',1),('card',C,'«','»','guillemets',1),('card',C,'card=','&cvv=123','query string',1),('card',G,'example.com/pay/','/receipt','path segment',1),('card',G,'example.com/?c=','&x=1','query value',1),('card',G,'/tmp/','.txt','file name',1),('card',G,'order-','-2024','dashes and words round it',1),('card',G,'0',' is new.','zero glued before',3),('card',G,'9',' is new.','digit glued before',3),('card',G,'+',' is new.','plus before',1),('card',G,'-',' is new.','minus before',1),('card',G,'0x',' is new.','0x before',1),('card',G,'','.00 was paid','decimals behind',1),('card',G,'€ ',',00 was paid','decimal comma behind',1),('card',C,'',' 4012 8888 8888 1881','the same number twice (first)',1),('card',C,'4012 8888 8888 1881 ','','the same number twice (second)',1),('card',C,'',' 5555 5555 5555 4444','another network behind',1),('card16b','5555 5555 5555 4444','4012 8888 8888 1881 ',' 123','another network before, code behind',1),('card15','3782 822463 10005','My card ',' 1234 is new.','four-digit code behind',1),('card15','3782 822463 10005','My card ',' 12/27 1234 is new.','expiry and code behind',1),('card15','3782 822463 10005','1234 ',' is new.','code before',1),('card15','378282246310005','My card ','1234 is new.','code glued',1),('card15','378282246310005','amex','','word glued before',1),('card15','378282246310005','My card ','_1227','underscore and expiry',1),('card16b','5555 5555 5555 4444','My card ',' 123 is new.','Mastercard and code',1),('card16b','5555555555554444','My card ','123 is new.','Mastercard and code glued',1),('card16b','5555-5555-5555-4444','My card ','-123 is new.','Mastercard and code behind a dash',1),('card19','6205500000000000004','My card ',' 123 is new.','19 digits and code',1),('card19','6205 5000 0000 0000 004','My card ',' 123 is new.','19 digits grouped and code',1),('card19','6205500000000000004','My card ','',"19 digits glued, whole run",1),
('iban','GB82 WEST 1234 5698 7654 32','Pay ',' today please.','lower-case words behind (the pattern may swallow them)',1),('iban','GB82 WEST 1234 5698 7654 32','Pay ',' is mine and it is old.','short words behind',1),('iban','GB82 WEST 1234 5698 7654 32','Pay ',' WESTGB2L','BIC behind',1),('iban','GB82 WEST 1234 5698 7654 32','Pay ',' BIC WESTGB2L','BIC behind a word',1),('iban','GB82 WEST 1234 5698 7654 32','Pay ',' 2024 03 01','date behind',1),('iban','GB82 WEST 1234 5698 7654 32','Pay ',' 100','amount behind',1),('iban','GB82 WEST 1234 5698 7654 32','Pay ','-100','amount behind a dash',1),('iban','GB82WEST12345698765432','IBAN','','word glued before',1),('iban','GB82WEST12345698765432','IBAN:','/BIC:WESTGB2L','colon and slash',1),('iban','GB82WEST12345698765432','iban_','_main','underscores',1),('iban','GB82WEST12345698765432','Pay ','EUR100','letters and digits glued behind',2),('iban','GB82WEST12345698765432','汇款至','账户','CJK neighbours',1),('iban','GB82 WEST 1234 5698 7654 32','to ','','short word before (two letters)',1),('iban','GB82 WEST 1234 5698 7654 32','AB12 ','','two letters and two digits before',1),('iban_de','DE89 3704 0044 0532 0130 00','Pay ',' and DE89 again.','the same country code behind',1),('iban_de','DE89370400440532013000','Pay ','0','digit glued behind',2),('iban_de','DE89 3704 0044 0532 0130 00','Pay ',' 50 EUR','amount and currency behind',1),
('phone','+1 202-555-0143','Call ',' 22 now','number behind',1),('phone','+1 202-555-0143','Call ','x22 now','extension glued',1),('phone','+1 202-555-0143','Call ','/0144 now','second number behind a slash',1),('phone','+1 202-555-0143','Call ',' +1 202-555-0144','second number behind',1),('phone','202-555-0143','Room 12 ','','room number before',1),('phone','202-555-0143','1 ',' now','number before',1),('phone','202-555-0143','call','','word glued before',1),('phone','202-555-0143','Tel','abc','letters on both sides',1),('phone','202-555-0143','phone_','_home','underscores',1),('phone','+1 202-555-0143','电话','。','CJK neighbours',1),('phone','202.555.0143','v','','letter before',2),('phone','+1 202-555-0143','(',')','brackets round',1),('phone','202 555 0143','Call ',' 2024 now','year behind, same separator',1),('phone','202-555-0143','Call 3-','-9 now','digits on both sides by dashes',2),('phone','+493023125042','Tel ',' 10115','glued and postcode',1),
('ssn','219-09-9999','SSN','','word glued before',1),('ssn','219-09-9999','SSN:','','colon before',1),('ssn','219-09-9999','His SSN is ','-1 now','digit behind a dash',1),('ssn','219-09-9999','His SSN is ',' 123 now','number behind',1),('ssn','219-09-9999','His SSN is ','A now','letter glued behind',1),('ssn','219-09-9999','ssn_','_old','underscores',1),('ssn','219-09-9999','His SSN is ','/219-09-9999 now','twice',1),('ssn','219-09-9999','1-','','digit before a dash',2),('ssn','219 09 9999','Her SSN 1 ',' 5','numbers on both sides',1),('ssn','219-09-9999','社保号','。','CJK neighbours',1),('ssn','219-09-9999','(',')','brackets round',1),('ssn','219099999','SSN=','&x=1','query string',1),
('ipv4','203.0.113.87','//',':8080/x','port',1),('ipv4','203.0.113.87','net ','/24 is up','prefix length',1),('ipv4','203.0.113.87','ip','','word glued before',1),('ipv4','203.0.113.87','ip_','_log','underscores',1),('ipv4','203.0.113.87','host-','.example.com','inside a host name',1),('ipv4','203.0.113.87','from ','-203.0.113.90','range',1),('ipv4','203.0.113.87','from ','.','full stop behind',1),('ipv4','203.0.113.87','from ','.5 and on','fifth part behind',2),('ipv4','203.0.113.87','1.','','fifth part before',2),('ipv4','203.0.113.87','::ffff:','','mapped into IPv6',1),('ipv4','203.0.113.87','v',' it is','letter before',1),('ipv4','203.0.113.87','地址','。','CJK neighbours',1),('ipv4','203.0.113.87','user@','','behind at',1),('ipv4','203.0.113.87','','#53','hash and port behind',1),
('ipv6','2001:db8:85a3::8a2e:370:7334','[',']:443/','brackets and port',1),('ipv6','2001:db8:85a3::8a2e:370:7334','net ','/64 is up','prefix length',1),('ipv6','2001:db8:85a3::8a2e:370:7334','addr ','%eth0 up','zone',1),('ipv6','2001:db8:85a3::8a2e:370:7334','ip6:','','word and colon before',2),('ipv6','2001:db8:85a3::8a2e:370:7334','ip6_','_x','underscores',1),('ipv6','2001:db8:85a3::8a2e:370:7334','addr ',':','colon behind',1),('ipv6','2001:0db8:85a3:0000:0000:8a2e:0370:7334','addr ',' up','full form',1),('ipv6','2001:db8::1','addr ',' up','short form',1),('ipv6','fe80::1','addr ',' up','link-local, short',1),('ipv6','2001:db8::192.0.2.33','addr ',' up','IPv4 tail',1),('ipv6','2001:db8:85a3::8a2e:370:7334','地址','。','CJK neighbours',1),
('email','jane.roe@example.org','mailto:','?subject=x','mailto with a query',1),('email','jane.roe@example.org','','.','full stop behind',1),('email','jane.roe@example.org','',',bob@example.com','list',1),('email','jane.roe@example.org','联系','谢谢','CJK neighbours glued',1),('email','jane.roe@example.org','user:',':x','colons',1),('email','jane.roe+tag@example.org','Write to ','','tag',1),('email','"jane roe"@example.org','Write to ','','quoted local part (RFC 5321)',2),('email','jane.roe@[203.0.113.87]','Write to ','','address literal (RFC 5321)',2),('email','jane.roe@exämple.org','Write to ','','IDN domain',2),('email','jane.roe@例え.テスト','Write to ','','IDN domain, all',2),('email','jane.roe@xn--exmple-cua.org','Write to ','','Punycode domain',1),('email','jane.roe@a.b.c.d.example.org','Write to ','','deep domain',1),('email','jane.roe@localhost','Write to ','','no dot',0),('email','jane_roe@example.org','__','__','underscores round',1),('email','jane.roe@example.org','mail','','word glued before',1),('email',"o'neil.roe@example.org",'Write to ','','apostrophe',1),('email','jane/roe@example.org','Write to ','','slash in the local part',2),('email','jane.roe@example.org','git clone git+ssh://',':repo.git','inside a URL',1),('email','smb://jane.roe:pw@example.org','Open ','','user and password in a URL',2)]
for s,w,b,a,f,k in ADJ:
    R(s,f,'adjacency',w,{1:NAMED+'numbers inside longer runs, letters = any, group borders' if s.startswith('card') else NAMED+'the same care for IBAN, SSN, phone and addresses',2:IMPL+'a reader sees the value; borders are not those that the rules name',3:NOT+'in a glued run a window counts from its start only',0:NOT+'the policy has no such pattern'}[k],k not in(0,3),before=b,after=a)
for s,w,b,a,f in [('buy','you should buy','“','”','quotes'),('buy','you should buy','','ing','suffix glued'),('buy','you should buy','If ',', then wait.','comma behind'),('buy','you should buy','THEN','','upper-case word glued before'),('returns','guaranteed returns','non-','','prefix'),('returns','guaranteed returns','_','_','underscores round'),('stop','stop taking','don’t ',' it','negation before'),('waive','waive privilege','_','_','underscores round'),('abroad','transfer abroad','(',')','brackets'),('privilege','attorney-client privilege','(',')','brackets'),('returns','guaranteed returns','享受','！','CJK neighbours'),('person','Ana Beispiel','','’s file','genitive'),('person','Ana Beispiel','Dr','','title glued')]:
    glued=f in('suffix glued','upper-case word glued before','title glued')
    R(s,'phrase: '+f,'adjacency',w,(NOT+'part of another word') if glued else (IMPL+'underscore is a word character' if 'underscore' in f else NAMED+'word boundary'),not glued,before=b,after=a)

# ---------------------------------------------------------------- JSON, code, logs (as text)
J=[('card','4012888888881881','{"card":"','"}','JSON string',1),('card',C,'{"card": "','", "n": 1}','JSON string, grouped',1),('card','4012888888881881','{"card":','}','JSON number',1),('card','4012888888881881','{"','":1}','JSON key',1),('card','4012888888881881','[[["','"]]]','nested arrays',1),('card','4012\\u00a08888\\u00a08888\\u00a01881','{"card":"','"}','JSON escape of no-break space',0),('card',''.join(f'\\u{ord(c):04x}' for c in '4012888888881881'),'{"card":"','"}','JSON escapes of digits',0),('card','4012","8888","8888","1881','["','"]','array elements',0),('card','4012, 8888, 8888, 1881','[',']','array of numbers',0),('card','{"a":4012,"b":8888,"c":8888,"d":1881}','','','four keys',0),('card','4012888888881881','{\\"card\\":\\"','\\"}','JSON in a JSON string',1),('card','4012_8888_8888_1881','let n: u64 = ',';','Rust literal with underscores',2),('card','4012_8888_8888_1881','n = ','','Python literal with underscores',2),('card',"4012'8888'8888'1881",'auto n = ',';','C++ literal with quotes',2),('card','4012888888881881u64','let n = ',';','Rust suffix',1),('card','4012888888881881n','const n = ',';','JavaScript BigInt suffix',1),('card','4012888888881881L','long n = ',';','Java suffix',1),('card','"4012" + "8888" + "8888" + "1881"','s = ','','string concatenation',0),('card','"4012" "8888" "8888" "1881"','s = ','','adjacent string literals',2),('card','4012888888881881','card: ','\nname: x','YAML',1),('card','4012888888881881','card = "','"','TOML',1),('card','4012888888881881','a,',',b','CSV',1),('card','4012,8888,8888,1881','a,',',b','CSV, four cells',0),('card','4012\t8888\t8888\t1881','a\t','\tb','TSV, four cells',1),('card','4012888888881881',"INSERT INTO c VALUES ('","');",'SQL',1),('card','4012888888881881','2024-05-01T10:00:00Z INFO card=',' status=ok','log line',1),('card','4012888888881881','pan:','|cvv:123','bars',1),('card','4012888888881881','<card>','</card>','XML',1),('card','4012888888881881','--card=','','option',1),('card','4012888888881881','export CARD=','','environment',1),('card','4012888888881881','printf("%s", "','");','C string',1),('card','\\x34\\x30\\x31\\x32\\x38\\x38\\x38\\x38\\x38\\x38\\x38\\x38\\x31\\x38\\x38\\x31','s = "','"','hexadecimal escapes',0),('card','4012888888881881','{"name":"pay","arguments":{"card":"','"}}','text that is a call',1),
('email','jane.roe@example.org','{"to":"','"}','JSON string',1),('email','jane.roe\\u0040example.org','{"to":"','"}','JSON escape of at',0),('email','jane.roe@example.org','{"to":["','","x"]}','JSON array',1),('email','jane.roe","example.org','["','"]','array elements',0),('email','jane.roe@example.org','to: <','>','header',1),('iban','GB82WEST12345698765432','{"iban":"','"}','JSON string',1),('iban','GB82 WEST 1234 5698 7654 32','<iban>','</iban>','XML',1),('iban','GB82WEST12345698765432','iban=','&x=1','query string',1),('phone','+12025550143','{"phone":"','"}','JSON string, glued',1),('phone','2025550143','{"phone":','}','JSON number',1),('phone','+1 202-555-0143','{"tel":"','"}','JSON string',1),('ssn','219-09-9999','{"ssn":"','"}','JSON string',1),('ssn','219099999','{"ssn":','}','JSON number beside the key',1),('ssn','219099999','{"social_security":"','"}','key with underscore',2),('ssn','219099999','{"socialSecurityNumber":"','"}','key in camel case',2),('ipv4','203.0.113.87','{"ip":"','"}','JSON string',1),('ipv4','203","0","113","87','["','"]','array elements',0),('ipv6','2001:db8:85a3::8a2e:370:7334','{"ip":"','"}','JSON string',1),('buy','you should buy','{"text":"','"}','JSON string',1),('buy','you\\nshould\\nbuy','{"text":"','"}','JSON escapes of line breaks',0),('buy','you should buy','// ','','code comment',1),('buy','you should buy','print("','")','code string',1),('returns','guaranteed returns','{"title":"','"}','JSON string',1),('returns','guaranteedReturns','let ',' = 1;','camel case',0),('returns','guaranteed_returns','let ',' = 1;','snake case',2),('stop','stop taking','{"note":"','"}','JSON string',1),('waive','waive privilege','{"act":"','"}','JSON string',1),('waive','waive_privilege','{"','":true}','key in snake case',2),('abroad','transfer abroad','{"op":"','"}','JSON string',1),('privilege','attorney-client privilege','tag: ','\n','YAML',1)]
for s,w,b,a,f,k in J:
    R(s,f,'json',w,{1:NAMED+'plain value in a structure',2:IMPL+'a reader sees the value',0:NOT+'split over elements, or an escape that text does not resolve'}[k],k!=0,before=b,after=a)

# ---------------------------------------------------------------- inflections
for s,w in [('privilege','attorney-client privileges'),('privilege','attorney-client privileged'),('privilege','attorneys-clients privilege'),('privilege','Attorney-Clients Privileges'),('waive','waived privilege'),('waive','waives privilege'),('waive','waiving privilege'),('waive','waive privileges'),('waive','waived privileges'),('returns','guaranteed return'),('returns','guarantees returns'),('returns','guaranteeing returns'),('returns','guarantee returns'),('returns','guarantee a return'),('returns','guaranteed returning'),('buy','you should buying'),('buy','you should buys'),('stop','stopped taking'),('stop','stops taking'),('stop','stopping taking'),('stop','stop takes'),('stop','stop take'),('abroad','transfers abroad'),('abroad','transferring abroad'),('abroad','transferred abroad'),('confidential','privilege and confidential'),('confidential','privileged and confidentiality')]:
    R(s,f'inflected: {w}','inflection',w,NAMED+'Snowball stems agree (inflect = true)' if ' a ' not in w and 'iality' not in w else NOT+'another word between, or another stem',' a ' not in w and 'iality' not in w)
for s,w,k in [('returns','returns guaranteed',0),('returns','returns are guaranteed',0),('buy','you ought to buy',0),('buy','you should purchase',0),('buy','buy, you should',0),('stop','cease taking',0),('stop','stop the intake of',0),('waive','waiver of privilege',1),('waive','waive the privilege',1),('abroad','transferral abroad',0),('abroad','transfer overseas',0),('privilege','client-attorney privilege',0),('privilege','lawyer-client privilege',0),('buy',"you'd should buy",0),('returns','guarranteed returns',0),('buy','yuo shuold buy',0),('stop','stop  takin’',0),('privilege','att’y-client privilege',0),('waive','privilege was waived',0)]:
    R(s,f'other words: {w}','inflection',w,NAMED+'another phrase of the vocabulary' if k else NOT+'other words, order or spelling',bool(k))
# ---------------------------------------------------------------- one word between
for s,w in [('returns','guaranteed annual returns'),('returns','guaranteed high returns'),('returns','guaranteed 12% returns'),('returns','guaranteed, steady returns'),('buy','you should really buy'),('buy','you should now buy'),('buy','you should, I think, buy'),('buy','you really should buy'),('buy','you should not buy'),('stop','stop now taking'),('stop','stop immediately taking'),('waive','waive all privilege'),('waive','waive any privilege'),('waive','waive our privilege'),('waive','waive legal privilege'),('privilege','attorney-client communication privilege'),('abroad','transfer funds abroad'),('abroad','transfer it abroad'),('abroad','transfer (see below) abroad'),('confidential','privileged and strictly confidential'),('person','Ana Maria Beispiel'),('person','Beispiel, Ana')]:
    R(s,w,'between',w,NOT+'the rules name no gap between words',False)
for s,w,f in [('card','4012 8888 and 8888 1881','word between groups'),('card','4012 then 8888 then 8888 then 1881','words between groups'),('card','4012 8888 **** 1881 with 8888 in the gap','masked and told'),('iban','GB82 WEST then 1234 5698 7654 32','word between groups'),('phone','+1 202 then 555-0143','word between groups'),('ssn','219 then 09 then 9999','words between groups'),('email','jane.roe, the mailbox @example.org','words between parts'),('card','4012 (first) 8888 (second) 8888 (third) 1881 (last)','remarks between groups')]:
    R(s,f,'between',w,NOT+'other words between the groups',False)

# ---------------------------------------------------------------- combined
for s,w,f,k in [('card','**4012**\u00a08888\u00a08888\u00a01881','bold and no-break spaces',1),('card','**4012**–**8888**–**8888**–**1881**','bold and en dashes',1),('card','４０１２\n８８８８\n８８８８\n１８８１','full-width and line breaks',1),('card','4012\u200b–8888\u200b–8888\u200b–1881','ignorable and en dash',1),('card','4012&nbsp;<b>8888</b>&nbsp;8888&#8209;1881','entities and tag',1),('card','| **4012** | `8888` | 8888 | *1881* |','table, bold, code',1),('card','| 4012&nbsp;8888 | 8888&nbsp;1881 |','table and entities',1),('card','> **4012** 8888\n> 8888 **1881**','quote, bold, wrap',1),('card','- **4012**\n- **8888**\n- **8888**\n- **1881**','list and bold',1),('card','𝟒𝟎𝟏𝟐\u202f𝟖𝟖𝟖𝟖\u202f𝟖𝟖𝟖𝟖\u202f𝟏𝟖𝟖𝟏','math digits and narrow spaces',1),('card','４０１２－８８８８\u200b－８８８８－１８８１','full-width, dashes, ignorable',1),('card','4012\\,8888~8888\\,1881','LaTeX mixed',1),('card','<b>𝟒𝟎𝟏𝟐</b> 𝟖𝟖𝟖𝟖 <i>𝟖𝟖𝟖𝟖</i> 𝟏𝟖𝟖𝟏','tags and math digits',1),('card','&#x1D7D2;&#x1D7CE;&#x1D7CF;&#x1D7D0; 8888 8888 1881','entities of math digits',1),('card','4012\u00ad&shy;8888 8888 1881','soft hyphen twice',1),('card','**４０１２** ８８８８ ８８８８ １８８１ 123','bold, full-width, security code',1),('card','4012\u00a08888\u00a08888\u00a01881\u00a0737','no-break spaces and security code',1),('card','4012–8888–8888–1881–737','en dashes and security code',1),('card','| 4012 | 8888 | 8888 | 1881 | 12/27 | 737 |','table with expiry and code',1),('card','card_**4012888888881881**_x','glued underscores and bold',1),('card','CardX４０１２８８８８８８８８１８８１','letter glued and full-width',1),('card','ꓚard４012\u200b8888\u200b8888\u200b1881','look-alike glued, ignorable',1),('card','<td>4012</td>\n\t<td>8888</td>\r\n<td>8888</td> <td>1881</td>','cells, CRLF, tab',1),('card','**40**12 88`88` 8_8_88 1881','three marks',1),('card','٤٠١٢\u200f ٨٨٨٨\u200f ٨٨٨٨\u200f ١٨٨١','Arabic digits and direction marks',2),
('card15','**3782**\u202f822463\u202f10005 1234','bold, narrow spaces, code',1),('card15','３７８２–８２２４６３–１０００５','full-width and en dash',1),
('email','jane.roe<b>&#64;</b>example.org','tag and entity',1),('email','**jane.roe**\\@**example.org**','bold and escape',2),('email','ｊａｎｅ.ｒｏｅ@\u200bexample.org','full-width and ignorable',1),('email','jane.roe@ех\u00adаmрlе.org','Cyrillic and soft hyphen',1),('email','`jane.roe`&commat;`example.org`','code and entity',1),
('iban','**ＧＢ８２**\u00a0WEST\u00a01234\u00a05698\u00a07654\u00a032','bold, full-width, no-break',1),('iban','GВ82–WEST–1234–5698–7654–32','Cyrillic and en dash',1),('iban','| GB82&nbsp;WEST | 1234&nbsp;5698 | 7654&nbsp;32 |','table and entities',1),('iban','GB82\n> WEST\n> 1234\n> 5698\n> 7654\n> 32','quote lines',1),
('phone','**+1**\u00a0202\u2011555\u20110143','bold, no-break space and hyphen',1),('phone','+１\u00a0２０２–５５５–０１４３','full-width and en dash',1),('phone','<b>+1</b>&nbsp;(202)&nbsp;555&#8209;0143','tag and entities',1),
('ssn','**219**–09–9999','bold and en dash',1),('ssn','２１９－０９－９９９９','full-width hyphens',1),('ssn','219\u200b\u2011\u200b09\u200b\u2011\u200b9999','ignorable and U+2011',1),
('ipv4','**203**.\u200b0.\u200b113.\u200b87','bold and ignorable',1),('ipv4','<b>２０３</b>.０.１１３.８７','tag and full-width',1),('ipv6','**2001**:db8:85а3::8а2е:370:7334','bold and Cyrillic',1),('ipv6','２００１:db8:\u200b85a3::8a2e:370:7334','full-width and ignorable',1),
('buy','**you**\u00a0should\nbuy','bold, no-break, wrap',1),('buy','уоu **ѕhоuld** buу','Cyrillic and bold',1),('buy','you&nbsp;<b>should</b>\n> buy','entity, tag, quote',1),('buy','y\u200bo\u200bu  s\u00adhould  b\u2060uy','ignorable and two spaces',1),('buy','ｙｏｕ　ｓｈｏｕｌｄ　**ｂｕｙ**','full-width and bold',1),('returns','**guаrаntееd**\u00a0rеturns','Cyrillic, bold, no-break',1),('returns','guaran\u00adteed&nbsp;re\u200bturns','soft hyphen, entity, ignorable',1),('returns','`guaranteed`\n`returns`','code and wrap',1),('returns','*guarantees*\u00a0*returns*','inflected, italic, no-break',1),('stop','**ﬆop**\u2009taking','ligature, bold, thin space',1),('stop','stopped\n> taking','inflected and quote',1),('waive','*waived*\u00a0privilege','inflected, italic, no-break',1),('waive','𝘄𝗮𝗶𝘃𝗲 <i>privilege</i>','math letters and tag',1),('privilege','**attorney\u2011client**  privilege','bold, U+2011, two spaces',1),('privilege','attorney&ndash;client\nprivileged','entity, wrap, inflected',1),('privilege','аttоrnеу–сliеnt privilege','Cyrillic and en dash',1),('abroad','*transfers*\u202fabroad','inflected, italic, narrow space',1),('abroad','trаnsfer\u200b\n\tаbrоаd','Cyrillic, ignorable, wrap',1)]:
    R(s,f,'combined',w,(NAMED if k==1 else IMPL)+'two or more of the groups above')

# ---------------------------------------------------------------- encoded: not promised
import base64, codecs
E=[('card','four zero one two eight eight eight eight eight eight eight eight one eight eight one','spelled digits'),('card','four thousand twelve, eighty-eight eighty-eight, eighty-eight eighty-eight, eighteen eighty-one','spelled pairs'),('card',base64.b64encode(G.encode()).decode(),'base64'),('card',base64.b32encode(G.encode()).decode(),'base32'),('card',G[::-1],'reversed'),('card',' '.join(f'{ord(c):02x}' for c in G),'hexadecimal bytes'),('card',hex(int(G)),'hexadecimal value'),('card',bin(int(G)),'binary value'),('card','4012 8888 8888 xxxx, the last group is 1881','last group told apart'),('card','MMMMXII 8888 8888 MDCCCLXXXI','Roman numerals'),('card','....- ----- .---- ..--- ---.. ---.. ---.. ---.. ---.. ---.. ---.. ---.. .---- ---.. ---.. .----','Morse'),('card','4012.8888.8888.1880 plus one in the last place','arithmetic'),('email',base64.b64encode(CANON['email'].encode()).decode(),'base64'),('email',codecs.encode(CANON['email'],'rot13'),'ROT13'),('email',CANON['email'][::-1],'reversed'),('email','=?utf-8?q?jane.roe=40example.org?=','MIME encoded word'),('iban','GB82 WEST twelve thirty-four 5698 7654 32','spelled digits'),('iban',CANON['iban'][::-1],'reversed'),('phone','plus one two oh two five five five oh one four three','spelled digits'),('phone',CANON['phone'][::-1],'reversed'),('ssn','two one nine, oh nine, nine nine nine nine','spelled digits'),('ipv4','two hundred three dot zero dot one one three dot eighty-seven','spelled digits'),('ipv6',base64.b64encode(CANON['ipv6'].encode()).decode(),'base64'),('buy',codecs.encode(CANON['buy'],'rot13'),'ROT13'),('buy',CANON['buy'][::-1],'reversed'),('buy','ouyay ouldshay uybay','pig Latin'),('returns',base64.b64encode(b'guaranteed returns').decode(),'base64'),('stop','s.t.o.p. t.a.k.i.n.g.','dots between letters'),('waive',' '.join(str(ord(c)) for c in 'waive privilege'),'character codes'),('privilege','A.C.P. (attorney, client; privilege)','words apart')]
for s,w,f in E: R(s,f,'encoded',w,NOT+'reading it needs a decoder',False)

if __name__=='__main__':
    seen={}
    out=[]
    for r in rows:
        k=(r['policy'],r['text'])
        if k in seen: continue
        seen[k]=1; out.append(r)
    # keep ids dense after removing duplicates
    n={}
    for r in out:
        n[r['group']]=n.get(r['group'],0)+1; r['id']=f"by-{r['group']}-{n[r['group']]:03d}"
    with open('../bypass.jsonl','w',encoding='utf-8') as f:
        for r in out: f.write(json.dumps(r,ensure_ascii=False)+'\n')
    print(len(rows),len(out),n,sum(r['fair'] for r in out))
