//! Requests to a witness.

use portcullis_authority::witness::CheckpointPost;

/// Parses the bytes as the body of a request; returns whether it was accepted.
pub(super) fn witness(bytes: &[u8]) -> bool {
    let post = CheckpointPost::from_body(bytes);
    if let Ok(post) = &post {
        assert_eq!(post.to_body(), bytes);
    }
    post.is_ok()
}
