use portcullis_signer_bench::*;
use slh_dsa::*;
#[test]
fn smoke() {
    for m in MODELS {
        let mut b = Bench::new(m.rounds).unwrap();
        println!("{:?}", b.sha256(b"abc").unwrap().clocks);
        let seeds = [7u8; 48];
        let t = std::time::Instant::now();
        let r = b.keygen(Some(&seeds)).unwrap();
        println!("keygen {} {:?}", r.clocks, t.elapsed());
        let msg = vec![3u8; m.message_bytes];
        let s = b.sign(&msg, Stall::None, 0).unwrap();
        println!("sign {} {:?}", s.clocks, t.elapsed());
    }
}
