"""UTS #39 prototypes that are one ASCII letter or digit, read from the public crate unicode-security 0.1.3 (Unicode 18)."""
import re, json, unicodedata
src=open('/root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/unicode-security-0.1.3/src/tables.rs').read()
a=src.index('pub mod confusable_detection'); b=src.index('pub mod potential_mixed')
d={}
for m in re.finditer(r"\('\\u\{([0-9a-f]+)\}',\s*&\[([^\]]*)\]\)",src[a:b]):
    t=re.findall(r"\\u\{([0-9a-f]+)\}",m.group(2))
    if len(t)==1:
        k=int(m.group(1),16); v=chr(int(t[0],16))
        if k>127 and v.isascii() and v.isalnum(): d[chr(k)]=v
if __name__=='__main__':
    inv={}
    for k,v in d.items():
        if unicodedata.normalize('NFKC',k).isascii(): continue
        inv.setdefault(v,[]).append(k)
    for v in sorted(inv): print(v,' '.join(f"{k}{ord(k):04X}" for k in inv[v] if k.isprintable())[:700])
