#![allow(warnings, clippy::all)]
use portcullis_prefilter::*;
use std::collections::BTreeMap;
fn main() {
    let f = Prefilter::new(Policy::profile(&std::env::var("PROFILE").unwrap_or("user-prompt".into())).unwrap()).unwrap();
    let show = std::env::var("SHOW").unwrap_or_default();
    let half = std::env::var("HALF").unwrap_or_default();
    for file in std::env::args().skip(1) {
        let mut n = 0; let mut r = 0; let mut rules: BTreeMap<String,(usize,usize)> = BTreeMap::new(); let mut vars: BTreeMap<String,(usize,usize)> = BTreeMap::new();
        let (mut sn, mut sr) = (0,0);
        for l in std::fs::read_to_string(&file).unwrap().lines() {
            let v: serde_json::Value = serde_json::from_str(l).unwrap();
            let t = v["text"].as_str().unwrap(); let id = v["id"].as_str().unwrap();
            use sha2::Digest;
            let h = sha2::Sha256::digest(id.as_bytes())[31] % 2;
            if half == "dev" && h != 0 || half == "check" && h == 0 { continue; }
            n += 1;
            let rep = f.report(t.as_bytes());
            let refused = !rep.is_executive();
            if t.len() < 800 { sn += 1; sr += refused as usize; }
            let key = v["lang"].as_str().or(v["variant"].as_str()).unwrap_or("-").to_string();
            let e = vars.entry(key).or_default(); e.1 += 1;
            if refused { r += 1; e.0 += 1; }
            let ids: Vec<_> = rep.violations().map(|v| v.id.clone()).collect();
            for i in &ids { let e = rules.entry(i.clone()).or_default(); e.0 += 1; if ids.len()==1 {e.1+=1;} }
            if show == "refused" && refused || show == "passed" && !refused {
                println!("  {id} {:?}", t.chars().take(400).collect::<String>());
                for v in rep.violations() { println!("      {} {:?}", v.id, String::from_utf8_lossy(&t.as_bytes()[v.start..v.end.min(v.start+200)])); }
            }
        }
        println!("{file}: {r}/{n} = {:.1}%  short {sr}/{sn}", 100.0*r as f64/n as f64);
        if std::env::var("RULES").is_ok() { println!("   {rules:?}"); println!("   {vars:?}"); }
    }
}
