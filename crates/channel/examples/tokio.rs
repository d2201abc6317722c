//! A server and a client whose tasks run under tokio: `cargo run --example tokio --features tokio -- server /tmp/upper.sock`, and with `client`
//! in another terminal.

use std::error::Error;
use std::path::Path;

use tollway_channel::linux::tokio::{Client, Server};
use tollway_channel::linux::{Limits, Options};

async fn serve(path: &Path) -> Result<(), Box<dyn Error>> {
    let listener = tokio::net::UnixListener::bind(path)?;
    loop {
        let link = listener.accept().await?.0.into_std()?;
        tokio::spawn(async move {
            let server = match Server::over(link, &Limits::default()).await {
                Ok(server) => server,
                Err(error) => return eprintln!("{error}"),
            };
            while let Some(request) = server.next().await {
                let server = server.clone();
                tokio::spawn(async move {
                    let mut bytes = [0; 64];
                    let count = server.read(&request, &mut bytes);
                    bytes.make_ascii_uppercase();
                    server.answer(request, 0, &bytes[..count]);
                });
            }
        });
    }
}

async fn ask(path: &Path) -> Result<(), Box<dyn Error>> {
    let client = Client::connect(path, &Options::default()).await?;
    let mut asking = Vec::new();
    for word in ["hello", "world"] {
        let client = client.clone();
        asking.push(tokio::spawn(async move {
            let mut reply = [0; 64];
            let (_, count) = client.call(0, word.as_bytes(), &mut reply).await?;
            Ok::<_, tollway_channel::coroutine::Lost>(String::from_utf8_lossy(&reply[..count]).into_owned())
        }));
    }
    for task in asking {
        println!("{}", task.await??);
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    match (arguments.next().as_deref(), arguments.next()) {
        (Some("server"), Some(path)) => runtime.block_on(serve(Path::new(&path))),
        (Some("client"), Some(path)) => runtime.block_on(ask(Path::new(&path))),
        _ => Err("say server or client, and the path of a socket".into()),
    }
}
