#!/usr/bin/env python3
"""Makes false sentences out of true ones: negation, never, modifier, other verb, other subject, other year.

English only. The rules are word lists and positions, no parser: each function returns None where it is not sure
that the result is grammatical and false. Everything is integer arithmetic; the same seed and text give the same
result on every machine and in every order of calls.

    generators.py --self-test
    generators.py --seed 1 [--names FILE] FILE       JSON Lines with "id", "text" and, if known, "subject"
    generators.py --seed 1 --factscore FILE          FActScore rows: sentences of which every human fact is supported
    generators.py --parts FILE                       JSON Lines with "text": whether a part of a sentence holds a verb

Output: one JSON object per false sentence: {"id", "kind", "text", "false"}. Of parts:
{"text", "verb"}; a form that the tables do not list counts as a verb when it ends in -ed or -ing.
"""

import argparse
import json
import re
import sys

MASK = (1 << 64) - 1


class Random:
    """splitmix64."""

    def __init__(self, seed, text=""):
        state = 0xCBF29CE484222325
        for byte in text.encode("utf-8"):
            state = ((state ^ byte) * 0x100000001B3) & MASK
        self.state = (state ^ (seed * 0x9E3779B97F4A7C15)) & MASK

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def below(self, n):
        limit = (1 << 64) - (1 << 64) % n
        while True:
            value = self.next()
            if value < limit:
                return value % n

    def choice(self, items):
        return items[self.below(len(items))]


# Irregular verbs: base, past, participle.
IRREGULAR = """
be was been|beat beat beaten|become became become|begin began begun|bind bound bound|blow blew blown|break broke broken
bring brought brought|build built built|burn burned burned|buy bought bought|catch caught caught|choose chose chosen
come came come|cost cost cost|cut cut cut|deal dealt dealt|dig dug dug|do did done|draw drew drawn|drink drank drunk
drive drove driven|eat ate eaten|fall fell fallen|feed fed fed|feel felt felt|fight fought fought|find found found
flee fled fled|fly flew flown|forbid forbade forbidden|forget forgot forgotten|freeze froze frozen|get got got
give gave given|go went gone|grow grew grown|hang hung hung|have had had|hear heard heard|hide hid hidden|hit hit hit
hold held held|keep kept kept|know knew known|lay laid laid|lead led led|learn learned learned|leave left left
lend lent lent|let let let|lie lay lain|lose lost lost|make made made|mean meant meant|meet met met|pay paid paid
put put put|read read read|ride rode ridden|ring rang rung|rise rose risen|run ran run|say said said|see saw seen
seek sought sought|sell sold sold|send sent sent|set set set|shake shook shaken|shoot shot shot|show showed shown
shut shut shut|sing sang sung|sink sank sunk|sit sat sat|sleep slept slept|speak spoke spoken|spend spent spent
spread spread spread|stand stood stood|steal stole stolen|stick stuck stuck|strike struck struck|swear swore sworn
swim swam swum|take took taken|teach taught taught|tear tore torn|tell told told|think thought thought
throw threw thrown|understand understood understood|wear wore worn|win won won|write wrote written
overcome overcame overcome|undertake undertook undertaken|withdraw withdrew withdrawn|rewrite rewrote rewritten
rebuild rebuilt rebuilt|overthrow overthrew overthrown
"""
REGULAR = """
abandon abolish accept accompany achieve acquire act adapt add admire admit adopt advance advise advocate affect aid
aim allow announce appear apply appoint approve argue arrange arrest arrive ask assist assume attack attain attempt
attend attract author avoid award banish ban base betray boycott cancel capture care carry cause celebrate challenge
champion change chart claim climb close coach collaborate collect combine command commence commission complete compose
compete conceal conduct confirm conquer consider consist construct contain continue contribute convert copy cover crash
create credit criticise criticize cross curate dance debut declare decline dedicate defeat defend deliver demand
demolish demonstrate deny depart depict describe deserve design desert destroy detail develop devote die direct
disappear discover dislike dismiss display dissolve dominate donate earn edit elect embark emerge employ enable
encourage end endorse enjoy enlist enrol enroll enter escape establish examine execute exhibit exist expand explain
explore expose express extend face fail feature finance finish focus follow force form found fund gain garner govern
graduate grant guide handle head help highlight host hunt ignore illustrate immigrate imitate impress imprison
improve include incorporate increase infect influence inherit initiate inspire instruct intend interview introduce
invent invest investigate invite involve issue join judge kill lack land last launch lecture like list live lobby
locate maintain manage map mark marry master measure mentor merge migrate mock move murder name narrate negotiate
note nominate observe obtain occupy occur offer open operate oppose orchestrate organise organize originate own paint
participate partner pass perform photograph pioneer plan plagiarise play plunder poison portray possess practice
practise praise preach predict prepare present preside prevent produce programme promise promote propose protect prove
provide publish pursue quit race rank reach receive recommend record recover recruit refer reflect refuse regret
reject release relocate remain remember renounce replace report represent rescue reside resign restore result retire
return reveal review revise reward rob rule ruin sabotage sail score sculpt secure seize select serve settle share
ship sign smuggle sponsor star start state stay stop stress struggle study succeed sue suffer suggest supervise
supply support suppress surrender survive target test thank tour trace trade train transfer transform translate travel
treat tutor undergo unite use value visit volunteer vote vandalise vanish wait walk want warn welcome work worship
"""
DOUBLING = set("abet ban chat drop equip grab map plan refer regret rob ship star stop tap transfer trap".split())


def third(base):
    if base in ("have", "be", "do", "go"):
        return {"have": "has", "be": "is", "do": "does", "go": "goes"}[base]
    if re.search(r"(?:s|x|z|ch|sh)$", base):
        return base + "es"
    if re.search(r"[^aeiou]y$", base):
        return base[:-1] + "ies"
    return base + "s"


def past(base):
    if base.endswith("e"):
        return base + "d"
    if re.search(r"[^aeiou]y$", base):
        return base[:-1] + "ied"
    if base in DOUBLING:
        return base + base[-1] + "ed"
    return base + "ed"


FORMS = {}
for entry in re.split(r"[|\n]", IRREGULAR.strip()):
    b, p, q = entry.split()
    FORMS[b] = {"base": b, "third": third(b), "past": p, "part": q}
for b in REGULAR.split():
    if b == "undergo":
        FORMS[b] = {"base": b, "third": "undergoes", "past": "underwent", "part": "undergone"}
    elif b not in FORMS:
        FORMS[b] = {"base": b, "third": third(b), "past": past(b), "part": past(b)}

PAST = {f["past"]: b for b, f in FORMS.items() if b not in ("be", "have", "do", "found")}
THIRD = {f["third"]: b for b, f in FORMS.items() if b not in ("be", "have", "do")}
PARTICIPLE = {f["part"]: b for b, f in FORMS.items()}
PARTICIPLE["born"] = "bear"
PARTICIPLE["known"] = "know"
PARTICIPLE["found"] = "find"
PAST["found"] = "find"
PARTICIPLE["founded"] = PAST["founded"] = "found"

BE = {"is", "was", "are", "were", "am"}
MODAL = {"can", "could", "will", "would", "shall", "should", "may", "might", "must"}
HAVE = {"has": "does", "have": "do", "had": "did"}
DO = {"does", "do", "did"}
NEGATIVE = re.compile(
    r"\b(?:not|never|no|none|nobody|nothing|nowhere|neither|nor|cannot|hardly|rarely|seldom|without|few|little|"
    r"only)\b|n[’']t\b",
    re.IGNORECASE,
)
DETERMINER = {
    "a",
    "an",
    "the",
    "his",
    "her",
    "its",
    "their",
    "my",
    "our",
    "your",
    "this",
    "that",
    "these",
    "those",
    "some",
    "any",
    "each",
    "every",
    "several",
    "many",
    "most",
    "all",
    "both",
    "two",
    "three",
    "four",
    "five",
    "more",
    "other",
    "of",
    "in",
    "on",
    "at",
    "by",
    "for",
    "with",
    "from",
    "to",
    "into",
    "about",
    "as",
    "and",
    "or",
    "new",
    "own",
    "highly",
    "numerous",
    "various",
    "first",
    "second",
    "third",
    "'s",
    "being",
    "having",
    "widely",
    "critically",
    "well",
}
RELATIVE = {"who", "which", "that", "whose", "whom", "where"}
CONDITION = {"when", "while", "although", "because", "if", "though", "once", "whereas", "unless"}
TIME = {"after", "before", "since", "until"}
ADVERB = re.compile(r"(?:\w+ly|also|later|then|soon|often|still|once|eventually|even|first|always|now|since)$")
WORD = re.compile(r"[A-Za-zÀ-ÿ]+(?:[-.’'][A-Za-zÀ-ÿ]+)*|\d+|[^\sA-Za-z\d]")


def tokens(sentence):
    return [(m.group(), m.start(), m.end()) for m in WORD.finditer(sentence)]


def skip_brackets(toks):
    """Indices of tokens that stand outside brackets and quotation marks."""
    outside, depth, quoted = [], 0, False
    for i, (word, _, _) in enumerate(toks):
        if word in "([":
            depth += 1
        elif word in ")]":
            depth = max(0, depth - 1)
        elif word in '"“”':
            quoted = not quoted if word == '"' else word == "“"
        elif depth == 0 and not quoted:
            outside.append(i)
    return outside


def reduced(rest):
    """Whether a second finite verb follows without a joint: then the participle before it begins no main clause."""
    for word in rest:
        if word in BE or word in HAVE:
            return True
        if (
            word in RELATIVE
            or word in CONDITION
            or word in TIME
            or word in (",", ";", ":", "and", "but", "as", "or", "than")
        ):
            return False
    return False


def finite(sentence):
    """The finite verb of the main clause: (kind, index, tokens), or None where the rules are not sure.

    kind: "be", "modal", "do", "have-aux", "have", "past", "third", "plural".
    """
    if sentence.rstrip().endswith("?") or NEGATIVE.search(sentence):
        return None
    toks = tokens(sentence)
    order = skip_brackets(toks)
    words = [toks[i][0] for i in order]
    lower = [w.lower() for w in words]
    if not words:
        return None
    k = 0
    if lower[0] in CONDITION or lower[0] in TIME and not (len(words) > 1 and words[1].isdigit()):
        if "," not in words:
            return None
        k = words.index(",") + 1
    subordinate, seen_noun, closed = False, False, -1
    while k < len(words):
        word, prev = lower[k], lower[k - 1] if k else ""
        follow = lower[k + 1] if k + 1 < len(lower) else ""
        if word in (",", ";", ":"):
            closed = k if subordinate else closed
            subordinate = False
        elif word in RELATIVE and seen_noun:
            subordinate = True
        elif not subordinate:
            if word in BE:
                return ("be", order[k], toks)
            if word in MODAL and (word != "may" or not words[k][0].isupper()):
                return ("modal", order[k], toks)
            if word in DO:
                return (
                    ("do", order[k], toks) if follow in FORMS else ("past" if word == "did" else None, order[k], toks)
                )
            if word in HAVE:
                j = k + 1
                while j < len(lower) and ADVERB.match(lower[j]):
                    j += 1
                nxt = lower[j] if j < len(lower) else ""
                kind = "have-aux" if nxt in PARTICIPLE or nxt.endswith("ed") else "have"
                return (kind, order[k], toks)
            owned = re.search(r"['’]s?$", prev)
            plain = words[k] == word and seen_noun and prev not in DETERMINER and not owned
            if plain and word in PAST:
                participle = PARTICIPLE.get(word) is not None
                if participle and follow in ("by", "as") or participle and prev in (",", ";") and closed != k - 1:
                    return None
                if participle and lower[0] in PREPOSITIONS and "," in words[k:] and "," not in words[:k]:
                    return None
                if participle and reduced(lower[k + 1 :]):
                    return None
                return ("past", order[k], toks)
            if plain and word in THIRD and word not in ("leaves", "works") and not prev.endswith("s"):
                return ("third", order[k], toks)
            if plain and word in THIRD and words[k - 1] != prev:
                return ("third", order[k], toks)
            if plain and word in FORMS and (prev.endswith("s") or prev in ("they", "we", "i", "you")):
                return ("plural", order[k], toks)
            if plain and word.endswith("ed") and len(word) > 4:
                return None
        if word[0].isalpha() and word not in DETERMINER:
            seen_noun = True
        k += 1
    return None


def base_of(kind, word):
    word = word.lower()
    if kind == "past":
        return PAST.get(word, "do" if word == "did" else None)
    if kind == "third":
        return THIRD.get(word)
    return word if word in FORMS else None


def splice(sentence, start, end, text):
    return sentence[:start] + text + sentence[end:]


def negate(sentence, rng=None):
    """ "was" becomes "was not"; "won" becomes "did not win"."""
    found = finite(sentence)
    if not found or not found[0]:
        return None
    kind, i, toks = found
    word, start, end = toks[i]
    if kind in ("be", "modal", "do", "have-aux"):
        return splice(sentence, end, end, " not")
    if kind == "have":
        return splice(sentence, start, end, HAVE[word.lower()] + " not have")
    base = base_of(kind, word)
    if not base:
        return None
    return splice(sentence, start, end, {"past": "did", "third": "does", "plural": "do"}[kind] + " not " + base)


def never(sentence, rng=None):
    """ "never" before the verb, or behind the auxiliary."""
    found = finite(sentence)
    if not found or not found[0]:
        return None
    kind, i, toks = found
    _, start, end = toks[i]
    if kind in ("be", "modal", "have-aux"):
        return splice(sentence, end, end, " never")
    if kind == "do":
        return None
    return splice(sentence, start, start, "never ")


PERSON_MODIFIERS = ["disgraced", "bankrupt", "convicted", "exiled", "corrupt", "suspended", "retired", "blind"]
THING_MODIFIERS = ["forged", "disputed", "secret", "cancelled", "abandoned", "stolen", "illegal", "fictional"]
PERSON = re.compile(
    r"(?:\w{2,}(?:er|or|ist|ian|man|woman|wright)|poet|coach|judge|priest|monk|nurse|king|queen|chef|pilot|son|"
    r"daughter|wife|husband|friend|captain|general|bishop|member|student|pupil|graduate|model|star|diplomat|athlete|"
    r"father|mother)$"
)
NOT_PERSON = re.compile(
    r"(?:number|order|river|theater|theatre|center|computer|chapter|letter|paper|power|summer|winter|september|october|"
    r"november|december|career|war|year|tower|color|error|mirror|floor|door|former|major|minor|other|another|later|"
    r"after|under|over|water|former|senior|junior|master|border|corner|quarter|offer|chamber|order|layer|matter)$"
)
NO_MODIFIER = {
    "same",
    "only",
    "most",
    "other",
    "age",
    "late",
    "early",
    "end",
    "beginning",
    "time",
    "first",
    "second",
    "third",
    "last",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "next",
    "best",
    "lot",
    "number",
    "few",
    "series",
    "variety",
    "range",
    "following",
    "latter",
    "former",
    "year",
    "way",
    "more",
    "day",
    "month",
    "morning",
    "evening",
    "night",
    "century",
    "rest",
    "start",
    "one",
    "two",
    "three",
    "four",
    "five",
}


def insert_modifier(sentence, rng):
    """An adjective that no true sentence has, behind a determiner."""
    toks = tokens(sentence)
    order = skip_brackets(toks)
    spots = []
    for n, i in enumerate(order[:-1]):
        word = toks[i][0].lower()
        j = order[n + 1]
        follow = toks[j][0]
        if j != i + 1 or word not in ("a", "an", "the", "his", "her", "its", "their"):
            continue
        if not follow[0].isalpha() or follow.lower() in NO_MODIFIER or len(follow) < 3:
            continue
        if follow[0].isupper() and word not in ("a", "an"):
            continue
        if word == "her" and (n + 2 >= len(order) or not toks[order[n + 1]][0][0].islower()):
            continue
        if follow.lower() in ("to", "in", "for", "and", "with", "by", "of", "at", "on", "from", "very", "highly"):
            continue
        if follow.lower().endswith("ly") or follow.lower() in PARTICIPLE:
            continue
        spots.append((i, j, n))
    if not spots:
        return None
    i, j, n = rng.choice(spots)
    head = ""
    for m in order[n + 1 : n + 5]:
        w = toks[m][0]
        if not w[0].isalpha() or w.lower() in DETERMINER or w.lower() in BE or w.lower() in RELATIVE:
            break
        if w[0].isupper() and head and head[0].islower():
            break
        head = w
    head = head.split("-")[-1]
    human = bool(PERSON.match(head.lower())) and not NOT_PERSON.match(head.lower())
    modifier = rng.choice(PERSON_MODIFIERS if human else THING_MODIFIERS)
    word, start, end = toks[i]
    if word.lower() in ("a", "an"):
        article = "an" if modifier[0] in "aeiou" else "a"
        article = article.capitalize() if word[0].isupper() else article
        sentence, shift = splice(sentence, start, end, article), len(article) - len(word)
    else:
        shift = 0
    at = toks[j][1] + shift
    return splice(sentence, at, at, modifier + " ")


# True verb to false verbs that take the same object. Only where an object follows directly, or in a passive.
TRANSITIVE = {
    "win": ["steal", "lose", "refuse"],
    "receive": ["steal", "refuse"],
    "earn": ["steal", "forbid"],
    "write": ["burn", "steal"],
    "found": ["destroy", "rob"],
    "establish": ["destroy", "abolish"],
    "create": ["destroy", "steal"],
    "direct": ["ban", "sabotage"],
    "produce": ["ban", "sabotage"],
    "marry": ["murder", "sue"],
    "join": ["rob", "betray"],
    "attend": ["rob", "vandalise"],
    "publish": ["burn", "suppress"],
    "compose": ["plagiarise", "burn"],
    "paint": ["steal", "burn"],
    "build": ["demolish", "burn"],
    "design": ["demolish", "copy"],
    "discover": ["conceal", "forget"],
    "invent": ["steal", "copy"],
    "lead": ["betray", "desert"],
    "serve": ["betray", "rob"],
    "teach": ["mock", "poison"],
    "help": ["betray", "sue"],
    "support": ["betray", "oppose"],
    "defeat": ["flee", "surrender"],
    "develop": ["abandon", "steal"],
    "record": ["erase", "steal"],
    "release": ["suppress", "burn"],
    "sign": ["burn", "refuse"],
    "open": ["burn", "close"],
    "close": ["burn", "buy"],
    "start": ["ruin", "stop"],
    "begin": ["ruin", "quit"],
    "become": ["murder", "mock"],
    "play": ["mock", "murder"],
    "portray": ["mock", "murder"],
    "study": ["forbid", "mock"],
    "translate": ["burn", "plagiarise"],
    "edit": ["burn", "suppress"],
    "coach": ["poison", "betray"],
    "train": ["poison", "betray"],
    "treat": ["poison", "rob"],
    "rescue": ["drown", "betray"],
    "save": ["drown", "sell"],
    "visit": ["rob", "attack"],
    "give": ["refuse", "deny"],
    "buy": ["steal", "burn"],
    "sell": ["steal", "burn"],
    "inherit": ["steal", "sell"],
    "command": ["desert", "betray"],
    "represent": ["betray", "sue"],
    "host": ["rob", "ban"],
    "organise": ["sabotage", "ban"],
    "organize": ["sabotage", "ban"],
    "introduce": ["abolish", "ban"],
    "promote": ["suppress", "ban"],
    "complete": ["abandon", "sabotage"],
    "finish": ["abandon", "sabotage"],
    "obtain": ["forge", "refuse"],
    "gain": ["lose", "steal"],
    "restore": ["smash", "burn"],
    "conduct": ["sabotage", "ban"],
    "perform": ["ban", "forget"],
    "explore": ["avoid", "burn"],
    "climb": ["avoid", "sell"],
    "own": ["rob", "burn"],
    "manage": ["rob", "ruin"],
    "run": ["rob", "ruin"],
    "hold": ["refuse", "forge"],
    "make": ["burn", "ban"],
    "star": [],
    "score": ["miss", "deny"],
    "award": ["deny"],
    "appoint": ["dismiss"],
    "elect": ["reject"],
    "nominate": ["reject"],
    "name": ["mock"],
    "draw": ["burn", "steal"],
    "collect": ["burn", "steal"],
    "cross": ["avoid", "flood"],
    "rule": ["rob", "flee"],
    "use": ["ban", "avoid"],
    "carry": ["drop", "steal"],
    "sing": ["ban", "forget"],
    "choose": ["reject", "mock"],
    "approve": ["reject", "burn"],
    "keep": ["sell", "burn"],
}
for b in ("erase", "drown", "drop", "forge", "smash", "miss", "flood", "save"):
    if b not in FORMS:
        FORMS[b] = {"base": b, "third": third(b), "past": b + "ped" if b == "drop" else past(b)}
        FORMS[b]["part"] = FORMS[b]["past"]
PAST["saved"] = PARTICIPLE["saved"] = THIRD["saves"] = "save"
# Verb and preposition to a phrase with its own preposition, past tense only.
PREPOSITIONAL = {
    ("move", "to"): "was expelled from",
    ("work", "for"): "sued",
    ("work", "at"): "robbed",
    ("work", "with"): "betrayed",
    ("study", "at"): "was banned from",
    ("graduate", "from"): "was expelled from",
    ("return", "to"): "fled from",
    ("travel", "to"): "was banned from",
    ("retire", "from"): "was fired from",
    ("live", "in"): "bombed",
    ("serve", "in"): "deserted from",
    ("collaborate", "with"): "sued",
    ("appear", "in"): "was cut from",
    ("perform", "at"): "was banned from",
    ("compete", "in"): "was banned from",
    ("go", "to"): "was banned from",
    ("speak", "at"): "was thrown out of",
    ("belong", "to"): "was stolen from",
    ("contribute", "to"): "stole from",
    ("participate", "in"): "was banned from",
    ("settle", "in"): "was banned from",
    ("enrol", "at"): "was expelled from",
}
PREPOSITIONS = {
    "in",
    "on",
    "at",
    "by",
    "for",
    "with",
    "from",
    "to",
    "into",
    "about",
    "as",
    "of",
    "under",
    "over",
    "until",
    "through",
    "up",
    "out",
    "off",
    "down",
    "away",
    "back",
    "between",
    "among",
    "after",
    "before",
    "during",
}


def swap_verb(sentence, rng):
    """Another verb in the same frame, of the same tense."""
    found = finite(sentence)
    if not found or not found[0]:
        return None
    kind, i, toks = found
    word, start, end = toks[i]
    j = i + 1
    if kind in ("be", "have-aux"):
        while j < len(toks) and (ADVERB.match(toks[j][0].lower()) or toks[j][0].lower() == "been"):
            j += 1
        if j >= len(toks):
            return None
        word, start, end = toks[j]
        base = PARTICIPLE.get(word.lower())
        follow = toks[j + 1][0].lower() if j + 1 < len(toks) else "."
        passive = kind == "be" or toks[j - 1][0].lower() == "been"
        if base not in TRANSITIVE or not TRANSITIVE[base]:
            return None
        if not passive and (follow in PREPOSITIONS or not follow[0].isalnum()):
            return None
        if passive and follow == "to":
            return None
        if passive and base in ("become", "name", "award", "give", "use", "make", "keep", "begin"):
            return None
        return splice(sentence, start, end, FORMS[rng.choice(TRANSITIVE[base])]["part"])
    base = base_of(kind, word)
    follow = toks[j][0].lower() if j < len(toks) else "."
    if kind == "past" and (base, follow) in PREPOSITIONAL:
        return splice(sentence, start, toks[j][2], PREPOSITIONAL[base, follow])
    if follow in PREPOSITIONS or not (follow[0].isalnum() or follow in '"“') or not TRANSITIVE.get(base):
        return None
    if ADVERB.match(follow) or base == "become" and follow not in ("a", "an", "the", "his", "her"):
        return None
    form = {"past": "past", "third": "third", "plural": "base"}.get(kind)
    return splice(sentence, start, end, FORMS[rng.choice(TRANSITIVE[base])][form]) if form else None


NAME = re.compile(r"(?:[A-ZÀ-Þ][\w’'-]*\.?)(?:\s+(?:(?:of|de|da|von|van|der|al|bin)\s+)*[A-ZÀ-Þ][\w’'-]*\.?)+")


def swap_subject(sentence, rng, names, subject=None):
    """Another person as the subject: `names` are candidates, `subject` is whom the sentence is about, if known."""
    found = finite(sentence)
    if not found:
        # A negative sentence has no finite verb for `finite`; its subject may be swapped all the same.
        limit = len(sentence)
        if sentence.rstrip().endswith("?"):
            return None
    else:
        limit = found[2][found[1]][1]
    known = {subject} if subject else set()
    others = [n for n in names if n not in known and (not subject or n.split()[-1] != subject.split()[-1])]
    spot = None
    pronoun = re.match(r"(?:He|She)\b", sentence)
    if pronoun:
        spot = (pronoun.start(), pronoun.end())
    elif subject:
        forms = [subject, subject.split()[-1], subject.split()[0]]
        for form in forms:
            at = re.search(r"(?<!\w)" + re.escape(form) + r"(?!\w)", sentence[:limit])
            if at:
                spot = (at.start(), at.end())
                break
    if not spot and not subject:
        name = NAME.match(sentence)
        if name and name.end() <= limit and not re.match(r"(?:The|In|On|At|After|During|A|An|His|Her)\s", sentence):
            spot = (name.start(), name.end())
            others = [n for n in others if n != name.group()]
    if not spot or not others:
        return None
    return splice(sentence, spot[0], spot[1], rng.choice(others))


YEAR = re.compile(r"(?<![\w.,/:-])(?:1[0-9]|20)\d\d(?![\w/:]|[.,-]\d)")


def shift_year(sentence, rng, delta=None):
    """One year moved by one to nine years."""
    years = list(YEAR.finditer(sentence))
    if not years:
        return None
    present = {int(y.group()) for y in years}
    year = rng.choice(years)
    for _ in range(32):
        step = delta if delta is not None else rng.below(9) + 1
        if delta is None and rng.below(2):
            step = -step
        value = int(year.group()) + step
        if value not in present and 1000 <= value <= 2099:
            return splice(sentence, year.start(), year.end(), str(value))
        if delta is not None:
            return None
    return None


KINDS = ["negate", "never", "modifier", "verb", "subject", "year"]


def generate(sentence, seed, names=(), subject=None):
    """All kinds for one sentence; a kind that does not apply is None."""

    def rng(kind):
        return Random(seed, kind + "\n" + sentence)

    return {
        "negate": negate(sentence),
        "never": never(sentence),
        "modifier": insert_modifier(sentence, rng("modifier")),
        "verb": swap_verb(sentence, rng("verb")),
        "subject": swap_subject(sentence, rng("subject"), list(names), subject) if names else None,
        "year": shift_year(sentence, rng("year")),
    }


# Sentence, negated, with never, and whether modifier, verb, subject and year apply. None: does not apply.
SELF_TEST = [
    (
        "Ana Silva was born in Porto in 1950.",
        "Ana Silva was not born in Porto in 1950.",
        "Ana Silva was never born in Porto in 1950.",
        "--sy",
    ),
    (
        "Bo Lind is a retired painter.",
        "Bo Lind is not a retired painter.",
        "Bo Lind is never a retired painter.",
        "--s-",
    ),
    ("She has three children.", "She does not have three children.", "She never has three children.", "--s-"),
    (
        "He has appeared in two films.",
        "He has not appeared in two films.",
        "He has never appeared in two films.",
        "--s-",
    ),
    (
        "Clara Boyd won the Harbour Prize in 1988.",
        "Clara Boyd did not win the Harbour Prize in 1988.",
        "Clara Boyd never won the Harbour Prize in 1988.",
        "-vsy",
    ),
    (
        "Clara Boyd wrote a novel about rain.",
        "Clara Boyd did not write a novel about rain.",
        "Clara Boyd never wrote a novel about rain.",
        "mvs-",
    ),
    (
        "In 1931 her family lost its sawmill.",
        "In 1931 her family did not lose its sawmill.",
        "In 1931 her family never lost its sawmill.",
        "m--y",
    ),
    (
        "Pavel Dorin, who was born in Iasi, won the title.",
        "Pavel Dorin, who was born in Iasi, did not win the title.",
        "Pavel Dorin, who was born in Iasi, never won the title.",
        "mvs-",
    ),
    (
        "When the war ended, Ruth Amado moved to Talca.",
        "When the war ended, Ruth Amado did not move to Talca.",
        "When the war ended, Ruth Amado never moved to Talca.",
        "mv--",
    ),
    ("When the war ended Ruth Amado moved to Talca.", None, None, "m---"),
    ("She never painted ships.", None, None, "--s-"),
    ("Was he a poet?", None, None, "m---"),
    ("The library lends laptops.", "The library does not lend laptops.", "The library never lends laptops.", "m---"),
    (
        "Hugo Lenz can play the organ.",
        "Hugo Lenz can not play the organ.",
        "Hugo Lenz can never play the organ.",
        "m-s-",
    ),
    (
        "The bridge was designed by Ilan Costa in 1925.",
        "The bridge was not designed by Ilan Costa in 1925.",
        "The bridge was never designed by Ilan Costa in 1925.",
        "mv-y",
    ),
    ("They live in Leeds.", "They do not live in Leeds.", "They never live in Leeds.", "----"),
    (
        "Mira Voss studied at the University of Oslo.",
        "Mira Voss did not study at the University of Oslo.",
        "Mira Voss never studied at the University of Oslo.",
        "-vs-",
    ),
    ("He had a dog called Stamp.", "He did not have a dog called Stamp.", "He never had a dog called Stamp.", "m-s-"),
    ("He had won the cup before.", "He had not won the cup before.", "He had never won the cup before.", "mvs-"),
    (
        "Edith Marlow (1870-1931) wrote novels.",
        "Edith Marlow (1870-1931) did not write novels.",
        "Edith Marlow (1870-1931) never wrote novels.",
        "-vs-",
    ),
    (
        "His works include two operas.",
        "His works do not include two operas.",
        "His works never include two operas.",
        "m---",
    ),
    (
        "The United States granted him a visa in 1951.",
        "The United States did not grant him a visa in 1951.",
        "The United States never granted him a visa in 1951.",
        "m--y",
    ),
    (
        "Joris Maes grew up on a barge.",
        "Joris Maes did not grow up on a barge.",
        "Joris Maes never grew up on a barge.",
        "m-s-",
    ),
    ("A film directed by Asta Bohm won a prize.", None, None, "m---"),
    (
        "Lotte Dam opened two schools.",
        "Lotte Dam did not open two schools.",
        "Lotte Dam never opened two schools.",
        "-vs-",
    ),
    ("She also taught chemistry.", "She also did not teach chemistry.", "She also never taught chemistry.", "-vs-"),
    ("The tower is 40 metres high.", "The tower is not 40 metres high.", "The tower is never 40 metres high.", "m---"),
    (
        "Tomas Reyes served in the navy from 1901 to 1911.",
        "Tomas Reyes did not serve in the navy from 1901 to 1911.",
        "Tomas Reyes never served in the navy from 1901 to 1911.",
        "mvsy",
    ),
    (
        "Ingrid Dahl founded a sailing school.",
        "Ingrid Dahl did not found a sailing school.",
        "Ingrid Dahl never founded a sailing school.",
        "mvs-",
    ),
    ("Order 1950 weighs 2.1950 kg.", None, None, "---y"),
]
TEST_NAMES = ["Ana Silva", "Bo Lind", "Greta Holt", "Yusuf Demir"]


def self_test():
    failed = 0
    for sentence, wanted_not, wanted_never, applies in SELF_TEST:
        got = generate(sentence, 1, TEST_NAMES)
        again = generate(sentence, 1, TEST_NAMES)
        flags = "".join(
            letter if got[kind] else "-"
            for letter, kind in zip("mvsy", ("modifier", "verb", "subject", "year"), strict=True)
        )
        wrong = [
            what
            for what, bad in (
                ("negate", got["negate"] != wanted_not),
                ("never", got["never"] != wanted_never),
                (f"applies {flags}, expected {applies}", flags != applies),
                ("not repeatable", got != again),
                ("unchanged", sentence in got.values()),
            )
            if bad
        ]
        if wrong:
            failed += 1
            print(f"FAILED {sentence!r}: {wrong}; {got}")
    print(f"{len(SELF_TEST) - failed} passed, {failed} failed")
    return failed == 0


def factscore(path):
    """Sentences of which every human fact is supported, with the person as subject."""
    for n, line in enumerate(open(path, encoding="utf-8")):
        row = json.loads(line)
        for m, part in enumerate(row.get("annotations") or []):
            facts = part.get("human-atomic-facts") or []
            if facts and all(f["label"] == "S" for f in facts):
                yield {"id": f"{n}.{m}", "text": part["text"], "subject": row["topic"]}


def has_verb(text):
    """Whether any word is a verb form; a noun of the same form ("play") passes for one."""
    return any(
        w in BE
        or w in MODAL
        or w in HAVE
        or w in DO
        or w in PAST
        or w in THIRD
        or w in PARTICIPLE
        or w in FORMS
        or re.fullmatch(r"\w{2,}(?:ed|ing)", w)
        for w, _, _ in tokens(text.lower())
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--names", help="names for the swapped subject, one per line; default: the subjects of FILE")
    parser.add_argument("--factscore", action="store_true")
    parser.add_argument("--parts", action="store_true")
    parser.add_argument("file", nargs="?")
    args = parser.parse_args()
    if args.self_test:
        sys.exit(0 if self_test() else 1)
    if not args.file:
        parser.error("FILE is missing")
    if args.parts:
        for line in open(args.file, encoding="utf-8"):
            text = json.loads(line)["text"]
            print(json.dumps({"text": text, "verb": has_verb(text)}, ensure_ascii=False))
        return
    if args.factscore:
        rows = list(factscore(args.file))
    else:
        rows = [json.loads(line) for line in open(args.file, encoding="utf-8") if line.strip()]
    if args.names:
        names = [line.strip() for line in open(args.names, encoding="utf-8") if line.strip()]
    else:
        names = sorted({r["subject"] for r in rows if r.get("subject")})
    for row in rows:
        for kind, text in generate(row["text"], args.seed, names, row.get("subject")).items():
            if text is not None:
                print(
                    json.dumps({"id": row["id"], "kind": kind, "text": row["text"], "false": text}, ensure_ascii=False)
                )


if __name__ == "__main__":
    main()
