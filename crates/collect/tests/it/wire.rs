//! What stands between a client and the fake: TLS, with or without certificates of clients, and
//! proxies.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// Something that passes on what it is sent; it ends with its value.
pub(crate) struct Wire {
    pub(crate) address: SocketAddr,
    /// How many connections it has had.
    pub(crate) used: Arc<AtomicUsize>,
    _runtime: tokio::runtime::Runtime,
}

#[derive(Clone)]
enum What {
    Tls(TlsAcceptor, SocketAddr),
    Connect,
    Socks,
}

/// A certificate or key of this folder. The tests of the binary include this file by its path.
pub(crate) fn pem(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../collect/tests/it/wire/tls")
        .join(name)
}

impl Wire {
    /// TLS before a server; `mutual` wants a certificate of the client.
    pub(crate) fn tls(to: SocketAddr, mutual: bool) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let chain = vec![CertificateDer::from_pem_file(pem("server.pem")).expect("a certificate")];
        let key = PrivateKeyDer::from_pem_file(pem("server.key.pem")).expect("a key");
        let builder = rustls::ServerConfig::builder();
        let builder = if mutual {
            let mut roots = rustls::RootCertStore::empty();
            roots
                .add(CertificateDer::from_pem_file(pem("ca.pem")).expect("a certificate"))
                .expect("an authority");
            builder.with_client_cert_verifier(
                WebPkiClientVerifier::builder(Arc::new(roots))
                    .build()
                    .expect("roots"),
            )
        } else {
            builder.with_no_client_auth()
        };
        let config = builder
            .with_single_cert(chain, key)
            .expect("a key that fits its certificate");
        Self::start(What::Tls(TlsAcceptor::from(Arc::new(config)), to))
    }

    /// An HTTP proxy that knows `CONNECT`.
    pub(crate) fn http_proxy() -> Self {
        Self::start(What::Connect)
    }

    pub(crate) fn socks_proxy() -> Self {
        Self::start(What::Socks)
    }

    fn start(what: What) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build();
        let runtime = runtime.expect("threads can be started");
        let listener = runtime
            .block_on(TcpListener::bind("127.0.0.1:0"))
            .expect("a free port");
        let address = listener
            .local_addr()
            .expect("a bound socket has an address");
        let used = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&used);
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(pass(stream, what.clone()));
            }
        });
        Self {
            address,
            used,
            _runtime: runtime,
        }
    }
}

async fn pass(mut stream: TcpStream, what: What) -> std::io::Result<()> {
    match what {
        What::Tls(acceptor, to) => {
            let mut stream = acceptor.accept(stream).await?;
            copy_bidirectional(&mut stream, &mut TcpStream::connect(to).await?).await?;
        }
        What::Connect => {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await?);
            }
            let head = String::from_utf8_lossy(&head).into_owned();
            let to = head
                .strip_prefix("CONNECT ")
                .and_then(|rest| rest.split(' ').next())
                .unwrap_or_default();
            let mut there = TcpStream::connect(to).await?;
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
            copy_bidirectional(&mut stream, &mut there).await?;
        }
        What::Socks => {
            let mut methods = vec![0; usize::from(stream.read_u16().await? & 0xff)];
            stream.read_exact(&mut methods).await?;
            stream.write_all(&[5, 0]).await?;
            // Version, command, a reserved byte, and that an IPv4 address follows.
            let mut request = [0; 10];
            stream.read_exact(&mut request).await?;
            let ip = [request[4], request[5], request[6], request[7]];
            let to = SocketAddr::from((ip, u16::from_be_bytes([request[8], request[9]])));
            let mut there = TcpStream::connect(to).await?;
            stream.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await?;
            copy_bidirectional(&mut stream, &mut there).await?;
        }
    }
    Ok(())
}
