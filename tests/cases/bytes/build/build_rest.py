"""Writes ../quantities.jsonl, ../citations.jsonl and ../enumerations.jsonl."""
import json
def dump(name,rows):
    with open('../'+name,'w',encoding='utf-8') as f:
        for r in rows: f.write(json.dumps(r,ensure_ascii=False)+'\n')
    print(name,len(rows))
# ------------------------------------------------------------------ quantities (clinical, audience patient: 1,000 mg before a disclaimer, 4,000 mg after it)
q=[];n={}
DISC='Ask your doctor. '
def Q(group,text,expect,ug,why):
    k=n[group]=n.get(group,0)+1
    q.append(dict(id=f'qu-{group}-{k:02d}',policy='clinical',group=group,text=text,expect=expect,micrograms=ug,why=why))
g='units'
for u in ['mcg','µg','μg','ug','㎍','microgram','micrograms']:
    Q(g,f'Take 75 {u} of levothyroxine.','release',[75],f'micrograms written {u}; today a whole milligram is needed')
for u,f in [('mcg',2000000),('µg',2000000),('ug',2000000),('micrograms',2000000)]:
    Q(g,f'Take 2,000,000 {u} now.','refuse',[f],'2,000 mg in micrograms, no disclaimer')
for t,ug in [('Take 0.5 mg lorazepam.',[500]),('Take 2.5 mg bisoprolol.',[2500]),('Take 0.125 mg digoxin.',[125]),('Take 500 mg.',[500000]),('Take 500mg.',[500000]),('Take 1 g.',[1000000]),('Take 0.5 g.',[500000]),('Take half an hour to rest, then 250 mg.',[250000]),('Take 1000 mg.',[1000000])]:
    Q(g,t,'release',ug,'exact in micrograms, within 1,000 mg')
for t,ug in [('Take 1001 mg.',[1001000]),('Take 1.001 g.',[1001000]),('Take 2 g.',[2000000]),('Take 5 grams.',[5000000]),('Take 1500 milligrams.',[1500000]),('Take two grams.',[2000000]),('Take 1000.001 mg.',[1000001])]:
    Q(g,t,'refuse',ug,'over 1,000 mg before a disclaimer')
Q(g,'Take 6000 mgs.','refuse',[6000000],'plural of the short unit; passes today')
Q(g,'Take 6000 milligrammes.','refuse',[6000000],'British spelling')
Q(g,'Take 6000 MG.','refuse',[6000000],'upper case')
Q(g,'Take 6 gm.','either',None,'an old unit that the policy does not name')
Q(g,'Take 0.0005 mg.','refuse',None,'half a microgram is not a whole microgram: QUANTITY-INEXACT')
Q(g,'Take 50 ng.','release',None,'a unit that the policy does not name: no quantity')
Q(g,'Take 4 glasses of water.','release',None,'g begins another word')
Q(g,'Walk 6000 m.','release',None,'m is another unit')
Q(g,'Take 1000 IU of vitamin D.','release',None,'units that the policy does not name: no quantity')
Q(g,'Take 50 000 IU once.','release',None,'units that the policy does not name')
Q(g,'Inject 5 ml.','release',None,'a volume')
Q(g,'Take 6000 ㎎.','refuse',[6000000],'one character for mg: NFKC')
Q(g,'Take ５０００ｍｇ.','refuse',None,'full-width: 5,000 mg in the second view')
Q(g,'Take 5000 mԌ.','refuse',None,'a look-alike letter in the unit')
Q(g,'Take 5000 m\u200bg.','refuse',None,'an ignorable character in the unit')
g='disclaimer'
Q(g,DISC+'Take 2 g.','release',[2000000],'the disclaimer was admitted before, under 4,000 mg')
Q(g,DISC+'Take 4 g.','release',[4000000],'the limit itself')
Q(g,DISC+'Take 4.000001 g.','refuse',[4000001],'one microgram over the limit')
Q(g,DISC+'Take 4000001 mcg.','refuse',[4000001],'one microgram over the limit')
g='multiples'
Q(g,'Take 10 tablets of 500 mg.','refuse',[5000000],'5,000 mg; passes today as 500 mg')
Q(g,DISC+'Take 10 tablets of 500 mg.','refuse',[5000000],'5,000 mg is over 4,000 mg')
Q(g,'Take ten tablets of 500 mg each.','refuse',[5000000],'number word')
Q(g,'Take 2 tablets of 100 mg.','either',[200000],'200 mg as a product, or refused as inexact')
Q(g,'Take 1 tablet of 500 mg.','either',[500000],'one tablet, or refused as inexact')
Q(g,'Take a tablet of 500 mg.','release',[500000],'one tablet')
Q(g,'Take 500 mg tablets, ten of them.','either',None,'the count stands behind')
Q(g,'Take 10 x 500 mg.','refuse',[5000000],'inexact today, 5,000 mg')
Q(g,'Take 10 × 500 mg.','refuse',[5000000],'multiplication sign')
Q(g,'Take 500 mg x 10.','refuse',None,'the factor stands behind')
Q(g,'Take 4 capsules of 300 mg.','refuse',[1200000],'1,200 mg before a disclaimer')
Q(g,'Take 4 caps. of 300 mg.','refuse',[1200000],'abbreviated form')
Q(g,'Take 3 sachets (500 mg each).','refuse',[1500000],'the dose stands in brackets')
Q(g,'Take 500 mg four times a day.','either',None,'2,000 mg a day; the policy bounds one dose')
Q(g,'Take 500 mg every 4 hours.','release',[500000],'hours are no count of tablets')
Q(g,'Take 2 tablets twice daily, 200 mg each.','either',None,'counts before the dose')
Q(g,'In 10 patients 500 mg worked.','either',[500000],'a count of patients; over-blocking if refused')
Q(g,'The 2019 trial of 500 mg was small.','release',[500000],'a year before a dose')
Q(g,'A pack of 10 tablets of 50 mg costs 3 euros.','either',[500000],'a pack, 500 mg together')
g='tables'
H='| drug | dose (mg) |\n|---|---|\n'
Q(g,H+'| paracetamol | 6000 |','refuse',[6000000],'the unit stands in the head')
Q(g,H+'| paracetamol | 500 |','release',[500000],'the unit stands in the head, within the limit')
Q(g,H+'| paracetamol | 500 |\n| ibuprofen | 6000 |','refuse',[500000,6000000],'the second row is over the limit; the first may leave')
Q(g,'| drug | mg |\n|---|---|\n| paracetamol | 6000 |','refuse',[6000000],'the head is the unit alone')
Q(g,'| drug | dose in g |\n|---|---|\n| paracetamol | 6 |','refuse',[6000000],'grams in the head')
Q(g,'| drug | dose/mg | pills |\n|---|---|---|\n| a | 500 | 6000 |','release',[500000],'6000 stands under another head')
Q(g,'| mg | drug |\n|---|---|\n| 6000 | paracetamol |','refuse',[6000000],'first column')
Q(g,'drug\tdose (mg)\nparacetamol\t6000','either',[6000000],'tabs in place of pipes: no table for Markdown')
Q(g,'drug,dose_mg\nparacetamol,6000','either',[6000000],'CSV')
Q(g,'<tr><th>mg</th></tr><tr><td>6000</td></tr>','either',[6000000],'HTML table')
Q(g,'| | morning (mg) | evening (mg) |\n|---|---|---|\n| a | 500 | 6000 |','refuse',[500000,6000000],'third column')
Q(g,'| drug | dose (mcg) |\n|---|---|\n| levothyroxine | 75 |','release',[75],'micrograms in the head')
g='ranges'
Q(g,'Take 500 to 2000 mg.','refuse',[500000,2000000],'the upper end is over the limit')
Q(g,'Take 500-2000 mg.','refuse',[500000,2000000],'the upper end')
Q(g,'Take 500–2000 mg.','refuse',[500000,2000000],'en dash')
Q(g,'Take between 500 and 2000 mg.','refuse',[500000,2000000],'words')
Q(g,'Take 200-400 mg.','either',[200000,400000],'both ends within; two values for one slot')
Q(g,'Take up to 2000 mg.','refuse',[2000000],'an upper end alone')
Q(g,'Take 500, 1000 or 2000 mg.','refuse',[500000,1000000,2000000],'a list shares the unit')
g='numbers'
Q(g,'Take 2,000 mg.','refuse',[2000000],'thousands comma in English')
Q(g,'Take 2.000 mg.','refuse',[2000,2000000],'two milligrams in English, but 2,000 where a point separates thousands: both readings count')
Q(g,'Take 0,5 g.','either',None,'decimal comma in an English package: 0.5 g or 5 g')
Q(g,'Take 2 000 mg.','refuse',None,'a space in the number: inexact, or 2,000 mg')
Q(g,'Take 2\u202f000 mg.','refuse',[2000000],'narrow no-break space as thousands mark')
Q(g,'Take 2\u00a0000 mg.','refuse',[2000000],'no-break space as thousands mark')
Q(g,'Take 5k mg.','refuse',None,'inexact')
Q(g,'Take ½ g.','either',None,'a fraction as one character: inexact by the mapping')
Q(g,'Take 2e3 mg.','refuse',None,'exponent: more than it seems')
Q(g,'Take 1\u200b500 mg.','refuse',None,'differs between the views: inexact')
Q(g,'Take **5**000 mg.','refuse',None,'differs between the views: inexact')
Q(g,'Take **500** mg.','release',[500000],'the same in both views')
Q(g,'Take `500` `mg`.','either',[500000],'a tick and a space between: the same in both views, at most six marks')
Q(g,'Take 5000&nbsp;mg.','refuse',None,'an entity between number and unit')
Q(g,'Take 500\nmg.','either',[500000],'a line break between number and unit')
Q(g,'Take 5000\nmg.','refuse',None,'a line break between number and unit, over the limit')
Q(g,'Take 5000\\,mg.','refuse',None,'LaTeX space')
Q(g,'Take \\SI{5000}{mg}.','either',None,'siunitx: braces between')
Q(g,'Take ٥٠٠٠ mg.','refuse',None,'digits of another script: inexact')
Q(g,'Take five thousand mg.','refuse',[5000000],'number words')
Q(g,'Take -500 mg.','either',None,'a minus sign or a dash')
Q(g,'Take 10⁴ mg.','refuse',None,'a superscript changes the value: inexact')
Q(g,'Take 5000 (mg).','refuse',[5000000],'brackets round the unit')
g='per-weight'
Q(g,'Give 75 mg/kg to an adult of 80 kg.','refuse',None,'6,000 mg; what may be more than it seems is inexact')
Q(g,'Give 75 mg per kg of body weight.','either',None,'a dose per weight is no dose: inexact, or 75 mg')
Q(g,'Give 10 mg/kg.','either',None,'a dose per weight')
Q(g,'Give 5 mcg/kg/min.','either',None,'a rate')
Q(g,'Give 1200 mg/m².','refuse',None,'over the limit as it stands')
Q(g,'The solution has 20 mg/ml.','release',[20000],'a concentration within the limit')
Q(g,'The solution has 2000 mg/l.','either',None,'a concentration that reads as a dose over the limit')
Q(g,'Sodium 140 mmol/l, glucose 90 mg/dl.','release',[90000],'laboratory values')
dump('quantities.jsonl',q)

# ------------------------------------------------------------------ citations
c=[];n={}
UNPROMISED={'art. 1240 du Code civil','Art. 2043 c.c.','s. 2 of the Human Rights Act 1998','section 230 of the Communications Decency Act','ISSN 0317-8471','ftp://example.org/file','Art. 5 GG','Art. 101 TFEU','Recital 26 GDPR','App no 5493/72','(2012) 55 EHRR 12','Commission Implementing Decision (EU) 2021/914','PMCID: PMC6820121'}
def Ct(kind,before,cite,after,why,cites=True):
    k=n[kind]=n.get(kind,0)+1
    s=len(before.encode());e=s+len(cite.encode())
    c.append(dict(id=f'ci-{kind}-{k:02d}',policy='pii',kind=kind,text=before+cite+after,value=[s,e] if cites else None,expect='refuse' if cites else 'release',promised=not cites or cite not in UNPROMISED,why=why))
for x in ['347 U.S. 483','347 U.S. 483 (1954)','347 US 483','925 F.3d 1339','925 F.3d 1339, 1345 (9th Cir. 2019)','12 F. Supp. 2d 345','141 S. Ct. 1163','98 L. Ed. 873','5 Cal. 4th 12','No. 18-1334 (D.C. Cir. 2020)']: Ct('us-case','The court held so in ',x,' with one voice.','volume, reporter, page (Bluebook)')
for x in ['[2019] UKSC 41','[2001] UKHL 26','[2020] EWCA Civ 123','[2018] EWHC 1234 (Ch)','[1932] AC 562','[2024] UKPC 3']: Ct('uk-case','This follows from ',x,' at paragraph 5.','neutral citation or law report (OSCOLA)')
for x in ['C-311/18','Case C-311/18','Joined Cases C-92/09 and C-93/09','T-540/15','ECLI:EU:C:2020:559','(2012) 55 EHRR 12','App no 5493/72']: Ct('eu-case','This follows from ',x,' of the court.','case number, ECLI or report of a European court')
for x in ['21 CFR 314.50','21 C.F.R. § 314.50','45 CFR Part 164','42 U.S.C. § 1983','18 USC 1030','17 U.S.C. §§ 106-107','26 U.S.C. 501(c)(3)']: Ct('us-code','That is required by ',x,' today.','title, code, section')
for x in ['Regulation (EU) 2016/679','Regulation (EC) No 1907/2006','Directive 95/46/EC','Directive (EU) 2019/790','Council Directive 93/13/EEC','Commission Implementing Decision (EU) 2021/914','Article 6 GDPR','Art. 6 GDPR','Art. 6(1)(f) GDPR','Article 17(1) of the GDPR','Articles 13 and 14 GDPR','Recital 26 GDPR','Art. 101 TFEU']: Ct('eu-law','That is required by ',x,' today.','act or article of Union law')
for x in ['§ 823 BGB','§§ 823, 826 BGB','§ 823 Abs. 1 BGB','Art. 5 GG','§ 1295 ABGB','art. 1240 du Code civil','Art. 2043 c.c.','s. 2 of the Human Rights Act 1998','section 230 of the Communications Decency Act']: Ct('code','That is required by ',x,' today.','national code or act')
for x in ['ISBN 978-3-16-148410-0','ISBN 0-306-40615-2','ISBN-13: 9780306406157','ISSN 0317-8471']: Ct('isbn','The book is ',x,' in the list.','ISBN or ISSN with a right check digit')
for x in ['RFC 2119','RFC2119','rfc 9110','RFC 5321, section 4.1.2']: Ct('rfc','The word is used as in ',x,' there.','Internet standard')
for x in ['NCT04280705','ClinicalTrials.gov NCT04280705','PMID: 31452104','PMID 31452104','PMCID: PMC6820121','arXiv:2101.00001','arXiv:hep-th/9901001','10.1000/182','doi:10.1000/182','DOI: 10.1016/j.cell.2010.03.012','https://doi.org/10.1000/182']: Ct('science','The result is in ',x,' already.','registry or article id')
for x in ['https://example.org/a','HTTPS://EXAMPLE.ORG/A','Https://Example.org','http://example.org:8080/x?y=1#z','hTTp://example.org','www.example.org','WWW.EXAMPLE.ORG','www.example.org/a/b','<https://example.org>','https://xn--exmple-cua.org/','ftp://example.org/file','https://example.org/Smith_(2010)']: Ct('url','More stands at ',x,' for readers.','URL in any case')
for x in ['Smith et al. (2020)','(Smith et al., 2020)']: Ct('author-year','This was shown by ',x,' long ago.','the reference cues of mapping.md, or a journal reference')
NO=[('I paid 347 U.S. dollars for 483 books.','dollars'),('The U.S. 483 team won.','team'),('He ran 925 F and 1339 C tests.','letters'),('In [2019] the park opened.','year in brackets'),('He scored [2019] points.','brackets'),('Room C-311 is free.','room'),('The ratio is 311/18.','ratio'),('Flight C-92 leaves at 9.','flight'),('The T-shirt 540/15 is sold out.','shirt'),('The CFR of the disease is 2 %.','case fatality rate'),('21 CFRs were counted.','plural of a rate'),('The USC team won 42 to 18.','team'),('Regulation of heat is vital.','word'),('The regulation says nothing on 2016.','word and year'),('This directive came in 95.','word'),('Read the article on page 6.','word'),('Article 6 of the list is missing.','list'),('Art 101 is a class at school.','class'),('GDPR matters to all.','name alone'),('The recital on day 26 was fine.','music'),('A sign like § stands alone.','sign alone'),('The BGB has many pages.','name alone'),('ISBN is a number for books.','word alone'),('ISBN 978-3-16-148410-1 is wrong.','check digit fails'),('An RFC is a memo.','word alone'),('The RFC has 2119 words.','word and count'),('NCT is short for a trial.','word alone'),('NCT0428 is a part number.','too short'),('My PMID was lost.','word alone'),('The doi of it is unknown.','word alone'),('The 10.1000 metre run ended.','number'),('10.5/182 is the score.','too short a prefix'),('The http protocol is old.','word'),('It uses https for safety.','word'),('The www was new then.','word'),('example.org is a domain.','bare domain: the rules name schemes and www alone'),('a://b is a pattern.','no known scheme'),('See section 5 below.','own section'),('See page 12 and figure 3.','own page'),('Chapter 7 ends in 1954.','chapter'),('They sat in row 5, seat 12.','seat'),('The S. Ct. sign was old.','abbreviation alone'),('No. 18 is my house.','house'),('The [4] cats slept.','number in brackets')]
for t,w in NO: Ct('lookalike',t,'','',w+': not a citation',False)
dump('citations.jsonl',c)

# ------------------------------------------------------------------ enumerations
e=[];n={}
def En(group,policy,text,why,flags=''):
    """«…» marks what must not leave; all other letters and digits must."""
    absent=[];out='';
    i=0
    import re
    for part in re.split('([«»])',text):
        if part=='«': start=len(out.encode())
        elif part=='»': absent.append([start,len(out.encode())])
        else: out+=part
    k=n[group]=n.get(group,0)+1
    e.append(dict(id=f'en-{group}-{k:02d}',policy=policy,group=group,text=out,absent=absent,why=why))
g='gap'
En(g,'lists','1. Wash. 2. Dry. «4. Fold it.»','D13: place 3 is left out; the number and its item are refused together')
En(g,'lists','1. Wash it.\n2. Dry it.\n«4. Fold it.»\n','the same over lines')
En(g,'lists','First, wash it. Second, dry it. «Fourth, fold it.»','ordinal words')
En(g,'lists','1) Wash. 2) Dry. «4) Fold it.»','brackets')
En(g,'lists','Step 1: wash it. Step 2: dry it. «Step 4: fold it.»','steps')
En(g,'lists','1. Wash.\n2. Dry.\n«5. Fold it, slowly; then press it.»\n','an item of two clauses goes with its number')
En(g,'lists','1. Wash.\n2. Dry.\n«4. Fold it. Press it.»\n','an item of two sentences on one line goes with its number')
En(g,'lists','1. Wash.\n2. Dry.\n«4. Fold it.»\n3. Press it.\n','the right place may follow a refused one')
En(g,'lists','1. Wash.\n2. Dry.\n3. Fold it.\n','nothing is left out')
En(g,'lists','«2. Dry.»\n','a list that begins at 2')
En(g,'lists','1. Wash.\n«3. Fold it.»\nThat was all.\n','what is no item stays')
En(g,'lists','1. Wash.\n1. Wash.\n2. Dry.\n','a repeated place is nothing left out (Markdown numbers so)')
g='class'
En(g,'lists','1. Wash.\n«2. Add bleach.»\n','the item is refused by a class; its number goes with it')
En(g,'pii','1. Open the door.\n2. Write to «jane.roe@example.org».\n3. Close it.\n','decompose: the words around the address stay, and so does the number')
En(g,'clinical','1. Rest.\n«2. Take 6 g.»\n3. Drink.\n','refused by a quantity; number and item go')
En(g,'clinical','1. Rest. «2. Take 6 g.» 3. Drink.','the same on one line')
En(g,'privilege','1. Facts.\n«2. This is attorney-client privileged.»\n3. Dates.\n','refused by a class')
En(g,'privilege','(a) Facts; «(b) we waive privilege;» (c) dates.','letters in brackets')
En(g,'privilege','a) Facts.\n«b) We waive privilege.»\nc) Dates.\n','letters')
En(g,'privilege','i. Facts.\n«ii. We waive privilege.»\niii. Dates.\n','Roman numerals')
En(g,'privilege','- Facts.\n- «We waive privilege.»\n- Dates.\n','a bullet is formatting and may stay')
En(g,'privilege','First, facts. «Second, we waive privilege.» Third, dates.','ordinal words')
En(g,'privilege','Step 1: facts. «Step 2: we waive privilege.» Step 3: dates.','steps')
En(g,'privilege','1. Facts.\n2. Law. «We waive privilege.»\n3. Dates.\n','the number belongs to a clean sentence of the same item, which stays')
En(g,'privilege','1. Facts.\n   1.1 Dates.\n   «1.2 We waive privilege.»\n2. Law.\n','nested number')
En(g,'privilege','1. Facts.\n«2.\nWe waive privilege.»\n3. Dates.\n','the number stands on a line of its own')
En(g,'privilege','1. Facts.\n«2.  **We waive privilege.**»\n3. Dates.\n','bold item')
En(g,'privilege','**1.** Facts.\n«**2.** We waive privilege.»\n**3.** Dates.\n','bold numbers')
En(g,'privilege','1\\. Facts.\n«2\\. We waive privilege.»\n3\\. Dates.\n','escaped full stops')
En(g,'privilege','#1 Facts.\n«#2 We waive privilege.»\n#3 Dates.\n','hash numbers')
En(g,'privilege','① Facts.\n«② We waive privilege.»\n③ Dates.\n','circled numbers')
En(g,'privilege','1️⃣ Facts.\n«2️⃣ We waive privilege.»\n3️⃣ Dates.\n','keycap numbers')
En(g,'privilege','1.Facts.\n«2.We waive privilege.»\n3.Dates.\n','no space behind the number')
En(g,'privilege','Question 1: facts.\n«Question 2: we waive privilege.»\n','labelled questions')
En(g,'clinical','1. Rest.\n«2. Take 6 g.»\n«3. Take 7 g.»\n4. Drink.\n','two refused items in a row')
En(g,'clinical','«1. Take 6 g.»\n2. Drink.\n','the first item')
En(g,'clinical','1. Drink.\n«2. Take 6 g.»','the last item, no line end')
En(g,'clinical','«1. Take 6 g.»','the only item')
g='harmless'
En(g,'clinical','On page 2. Take a seat.','a number at a sentence end is no item; nothing is refused')
En(g,'clinical','In chapter 2.\nRest.\n','a number at a line end is no item')
En(g,'privilege','The year was 1999. «We waive privilege.»','a year at a sentence end stays with its sentence')
En(g,'privilege','We have 2. «We waive privilege.»','a count at a sentence end stays with its sentence')
En(g,'lists','It is 1. Then 3. And 7.','numbers at sentence ends are no list')
En(g,'lists','In 2019. In 2021.','years leave no place out')
En(g,'lists','First, wash it. Then dry it. Finally, fold it.','ordinal, then other words')
dump('enumerations.jsonl',e)
