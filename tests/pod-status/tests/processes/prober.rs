//! Fires requests at the webhooks of all processes.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::child::now;
use crate::cluster::Process;
use crate::judgement::{Judged, Log};

/// One request.
#[derive(Clone, Debug)]
pub struct Request {
    pub sent: u64,
    pub answered: u64,
    pub judged: Judged,
}

pub struct Prober {
    ended: Arc<AtomicBool>,
    threads: Vec<(String, JoinHandle<Vec<Request>>)>,
}

impl Prober {
    /// Begins to send requests to each process, one after the other.
    pub async fn start(processes: &[Process]) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let mut threads = Vec::new();
        for process in processes {
            let (port, ended) = (process.port().await, ended.clone());
            threads.push((process.id.clone(), std::thread::spawn(move || fire(port, &ended))));
        }
        Self { ended, threads }
    }

    /// Ends and returns the requests by pod.
    pub fn end(self) -> Vec<(String, Vec<Request>)> {
        self.ended.store(true, Ordering::SeqCst);
        self.threads.into_iter().map(|(id, thread)| (id, thread.join().unwrap())).collect()
    }
}

/// The requests as a log in which a judgement has the time at which its request was *sent*.
pub fn as_log(id: &str, requests: &[Request]) -> Log {
    let judged = requests.iter().map(|request| Judged { time: request.sent, ..request.judged.clone() });
    Log { id: id.to_owned(), judged: judged.collect(), ..Log::default() }
}

fn fire(port: u16, ended: &AtomicBool) -> Vec<Request> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_nodelay(true).unwrap();
    let mut answers = BufReader::new(stream.try_clone().unwrap());
    let mut requests = Vec::new();
    while !ended.load(Ordering::SeqCst) {
        let sent = now();
        let mut line = String::new();
        if stream.write_all(b"?").is_err() || answers.read_line(&mut line).is_err() {
            break;
        }
        // An empty answer: the pod must not answer yet.
        requests.extend(Judged::parse(line.trim_end()).map(|judged| Request {
            sent,
            answered: now(),
            judged,
        }));
        std::thread::park_timeout(Duration::from_millis(2));
    }
    requests
}
