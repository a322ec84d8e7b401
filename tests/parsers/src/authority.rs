//! Requests to a witness.

use portcullis_authority::witness::{Post, read_head};

/// Parses the bytes as the head and as the body of a request; returns whether one of the two was accepted.
pub(super) fn witness(bytes: &[u8]) -> bool {
    let head = read_head(bytes);
    if let Ok((first, _)) = &head {
        assert!(bytes.starts_with(first.as_bytes()) && !first.contains(char::is_control));
    }
    let post = Post::from_body(bytes);
    if let Ok(post) = &post {
        assert_eq!(post.to_body(), bytes);
    }
    head.is_ok() || post.is_ok()
}
