//! The hook over a Unix socket: one line of JSON each way, between two processes of one user.
//!
//! The folder is shared by two containers of a pod, so the socket is protected twice: by the mode of the folder, and by
//! the user id that the kernel reports for the other end.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use examples::ranking::{Answer, Question};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::timeout;

pub(crate) const SOCKET: &str = "rank.sock";
/// The hook version, said by the server before anything else.
const GREETING: &str = r#"{"hooks":{"rank":["v1"]}}"#;
const PATIENCE: Duration = Duration::from_secs(10);
const LINE_BYTES: u64 = 64 << 10;

/// Binds the socket. A socket file that a crash left behind is replaced in one step, so a client finds the old one or the new
/// one, and never none.
pub(crate) fn listen(folder: &Path) -> io::Result<UnixListener> {
    std::fs::create_dir_all(folder)?;
    std::fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    let fresh = folder.join(format!("{SOCKET}.{}", std::process::id()));
    let listener = UnixListener::bind(&fresh)?;
    std::fs::rename(fresh, folder.join(SOCKET))?;
    Ok(listener)
}

/// Answers one question per connection, if the other end runs as `user`.
pub(crate) async fn serve(stream: UnixStream, user: u32, rank: impl Fn(&Question) -> Answer) -> Result<()> {
    let peer = stream.peer_cred()?.uid();
    ensure!(peer == user, "refused a caller with user id {peer}; only {user} may call");
    let (reader, mut writer) = stream.into_split();
    writer.write_all(format!("{GREETING}\n").as_bytes()).await?;
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
        ensure!(greeting == GREETING, "the sidecar offers {greeting}, and {GREETING} is known here");
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
