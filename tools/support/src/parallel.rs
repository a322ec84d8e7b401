//! Parallel work on a list: each worker thread takes the next item.

use std::sync::{Mutex, PoisonError};
use std::thread;

/// Runs a task for every item of a list, on all cores. Returns the results in the order of the list. After a failure,
/// no further task begins. Errors: the first error of a task.
pub fn on_every_core<T: Send, R: Send, E: Send>(
    list: Vec<T>,
    task: impl Fn(T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let queue = Mutex::new(list.into_iter().enumerate());
    let done = Mutex::new(Vec::new());
    let failed = Mutex::new(None);
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                loop {
                    let next = lock(&queue).next();
                    let Some((place, member)) = next.filter(|_| lock(&failed).is_none()) else { break };
                    match task(member) {
                        Ok(result) => lock(&done).push((place, result)),
                        Err(error) => {
                            lock(&failed).get_or_insert(error);
                        }
                    }
                }
            });
        }
    });
    if let Some(error) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(place, _)| *place);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::on_every_core;

    #[test]
    fn results_are_in_order_and_the_first_error_ends_the_work() {
        let all = on_every_core((0..100).collect(), |n: u32| Ok::<_, ()>(n * 2));
        assert_eq!(all, Ok((0..100).map(|n| n * 2).collect()));
        assert_eq!(on_every_core((0..100).collect(), |n: u32| if n == 7 { Err(n) } else { Ok(n) }), Err(7));
    }
}
