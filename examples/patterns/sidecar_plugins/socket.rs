//! The hook over a Unix socket: one line of JSON each way, between two processes of one user.
//!
//! The folder is shared by two containers of a pod, so the socket is protected twice: by the mode of the folder, and by
//! the user id that the kernel reports for the other end.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Error, Result, anyhow, ensure};
use examples::ranking::{Answer, Question, agree};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::timeout;

pub(crate) const SOCKET: &str = "rank.sock";
/// The hook version on both sides, one of those over HTTPS. The server says it before anything else.
const VERSION: &str = "v2";
const PATIENCE: Duration = Duration::from_secs(10);
const LINE_BYTES: u64 = 64 << 10;

/// Binds the socket. A socket file that a crash left behind is replaced in one step, so a client finds the old one or the new
/// one, and never none.
pub(crate) fn listen(folder: &Path) -> io::Result<UnixListener> {
    std::fs::create_dir_all(folder)?;
    std::fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    let fresh = folder.join(format!("{SOCKET}.{}", std::process::id()));
    // Left by a start that was killed right here: in a container each start has the same process id.
    let _absent = std::fs::remove_file(&fresh);
    let listener = UnixListener::bind(&fresh)?;
    std::fs::rename(fresh, folder.join(SOCKET))?;
    Ok(listener)
}

/// Answers one question per connection, if the other end runs as `user`.
pub(crate) async fn serve(stream: UnixStream, user: u32, rank: impl Fn(&Question) -> Answer) -> Result<()> {
    let peer = stream.peer_cred()?.uid();
    ensure!(peer == user, "refused a caller with user id {peer}; only {user} may call");
    let (reader, mut writer) = stream.into_split();
    let greeting = json!({"hooks": {"rank": [VERSION]}});
    writer.write_all(format!("{greeting}\n").as_bytes()).await?;
    let question = read_line(reader).await?;
    let answer = rank(&serde_json::from_str(&question)?);
    writer.write_all(&[serde_json::to_vec(&answer)?, b"\n".to_vec()].concat()).await?;
    Ok(())
}

/// Asks the sidecar; a new connection each time, so that neither side has to notice that the other was started again.
pub(crate) async fn ask(folder: &Path, question: &Question) -> Result<Answer> {
    let talk = async {
        let path = folder.join(SOCKET);
        let stream = UnixStream::connect(&path).await;
        let stream =
            stream.with_context(|| format!("{} does not answer: is the sidecar running?", path.display()))?;
        let (peer, own) = (stream.peer_cred()?.uid(), rustix::process::getuid().as_raw());
        ensure!(peer == own, "the sidecar runs as user {peer}, and this process as {own}");
        let (reader, mut writer) = stream.into_split();
        let mut lines = BufReader::new(reader.take(LINE_BYTES)).lines();
        let greeting = lines.next_line().await?.context("the sidecar refused the call")?;
        let offered = serde_json::from_str(&greeting).context("the sidecar's greeting is not JSON")?;
        agree(&offered, &[VERSION]).map_err(Error::msg)?;
        writer.write_all(&[serde_json::to_vec(question)?, b"\n".to_vec()].concat()).await?;
        let answer = lines.next_line().await?.context("the sidecar ended without an answer")?;
        Ok(serde_json::from_str(&answer)?)
    };
    timeout(PATIENCE, talk).await.map_err(|_| anyhow!("no answer in {} s", PATIENCE.as_secs()))?
}

async fn read_line(reader: impl tokio::io::AsyncRead + Unpin) -> Result<String> {
    let mut lines = BufReader::new(reader.take(LINE_BYTES)).lines();
    let line = timeout(PATIENCE, lines.next_line()).await.map_err(|_| anyhow!("no question came"))?;
    line?.context("no question came")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> u32 {
        rustix::process::getuid().as_raw()
    }

    fn all(question: &Question) -> Answer {
        Answer { zones: question.zones.iter().map(|zone| zone.name.clone()).collect() }
    }

    /// Serves one call, with this greeting where it is not that of [`serve`].
    async fn asked(greeting: Option<&str>, user: u32) -> (Result<Answer>, Result<()>) {
        let folder = tempfile::tempdir().unwrap();
        let listener = listen(folder.path()).unwrap();
        let served = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let Some(greeting) = greeting else { return serve(stream, user, all).await };
            stream.write_all(format!("{greeting}\n").as_bytes()).await.unwrap();
            let question = read_line(&mut stream).await?;
            let answer = all(&serde_json::from_str(&question)?);
            Ok(stream.write_all(&serde_json::to_vec(&answer)?).await?)
        };
        let question = Question::new("a", 2);
        tokio::join!(ask(folder.path(), &question), served)
    }

    /// In a container each start has the same process id.
    #[tokio::test]
    async fn a_start_that_was_killed_before_its_rename_does_not_stop_the_next_one() {
        let folder = tempfile::tempdir().unwrap();
        let left = folder.path().join(format!("{SOCKET}.{}", std::process::id()));
        drop(UnixListener::bind(left).unwrap());
        let _listener = listen(folder.path()).unwrap();
        UnixStream::connect(folder.path().join(SOCKET)).await.unwrap();
    }

    /// Such as a sidecar that is stopped: the kernel connects in its name.
    #[tokio::test(start_paused = true)]
    async fn a_sidecar_that_says_nothing_is_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let _silent = listen(folder.path()).unwrap();
        let error = ask(folder.path(), &Question::new("a", 2)).await.unwrap_err();
        assert_eq!(error.to_string(), "no answer in 10 s");
    }

    #[tokio::test]
    async fn a_newer_sidecar_that_still_has_our_version_is_asked() {
        for (greeting, answered) in [
            (r#"{"hooks": {"rank": ["v2"]}}"#, true),
            (r#"{"hooks": {"rank": ["v1", "v2", "v3"], "other": ["v1"]}}"#, true),
            (r#"{"hooks": {"rank": ["v3"]}}"#, false),
            (r#"{"hooks": {"rank": ["v1"]}}"#, false),
            (r#"{"hooks": {}}"#, false),
            ("hello", false),
        ] {
            let (answer, _) = asked(Some(greeting), own()).await;
            assert_eq!(answer.is_ok(), answered, "{greeting}: {answer:?}");
        }
    }

    #[tokio::test]
    async fn a_caller_of_another_user_is_told_nothing() {
        assert_eq!(asked(None, own()).await.0.unwrap().zones.len(), 3);
        let (answer, served) = asked(None, own() + 1).await;
        assert!(answer.unwrap_err().to_string().contains("refused the call"));
        assert!(served.unwrap_err().to_string().starts_with("refused a caller with user id"));
    }
}
