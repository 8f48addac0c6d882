//! First bytes of connections, made by hand: PROXY protocol headers, TLS client hellos, the
//! openings of HTTP.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;

use meshladder_sim::request::{Connection, Tls};

/// What a client with this connection sends first, behind a PROXY header with its addresses.
pub(crate) fn opening(connection: &Connection) -> Vec<u8> {
    [
        proxy_header(connection).into_bytes(),
        first_bytes(connection),
    ]
    .concat()
}

/// What a client with this connection sends first.
pub(crate) fn first_bytes(connection: &Connection) -> Vec<u8> {
    match (&connection.tls, connection.plain_http) {
        (Some(tls), _) => client_hello(tls),
        (None, Some("http/1.0")) => b"GET / HTTP/1.0\r\n\r\n".to_vec(),
        (None, Some("http/1.1")) => {
            b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n".to_vec()
        }
        (None, Some(_)) => b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
        (None, None) => b"\x00\x01 not HTTP at all\r\n".to_vec(),
    }
}

/// Sends bytes and reads until the other side closes; what was read before a reset counts.
pub(crate) fn exchange(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut answer = Vec::new();
    let Ok(mut stream) = TcpStream::connect(address) else {
        return answer;
    };
    let _ = stream.set_nodelay(true);
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .expect("a timeout can be set");
    if stream.write_all(bytes).is_ok() {
        let _ = stream.read_to_end(&mut answer);
    }
    answer
}

fn proxy_header(connection: &Connection) -> String {
    let (destination, port) = connection.destination;
    let (source, source_port) = connection
        .source
        .expect("a real connection comes from somewhere");
    let family = if destination.is_ipv6() {
        "TCP6"
    } else {
        "TCP4"
    };
    format!("PROXY {family} {source} {destination} {source_port} {port}\r\n")
}

/// A client hello that a TLS server would answer (RFC 8446, section 4.1.2).
fn client_hello(tls: &Tls) -> Vec<u8> {
    let mut extensions = Vec::new();
    if let Some(sni) = &tls.sni {
        let entry = [&[0][..], &sized16(sni.as_bytes())].concat();
        extension(&mut extensions, 0, &sized16(&entry));
    }
    extension(&mut extensions, 10, &sized16(&[0, 0x1d, 0, 0x17]));
    extension(&mut extensions, 11, &[1, 0]);
    extension(&mut extensions, 13, &sized16(&[4, 3, 8, 4, 4, 1]));
    if !tls.alpn.is_empty() {
        let list: Vec<u8> = tls
            .alpn
            .iter()
            .flat_map(|protocol| sized8(protocol.as_bytes()))
            .collect();
        extension(&mut extensions, 16, &sized16(&list));
    }
    let mut body = vec![3, 3];
    body.extend([7; 32]);
    body.extend(sized8(&[]));
    body.extend(sized16(&[0xc0, 0x2f, 0xc0, 0x2b, 0, 0x9c]));
    body.extend(sized8(&[0]));
    body.extend(sized16(&extensions));
    let mut handshake = vec![1, 0];
    handshake.extend(sized16(&body));
    [&[0x16, 3, 1][..], &sized16(&handshake)].concat()
}

fn extension(extensions: &mut Vec<u8>, kind: u8, data: &[u8]) {
    extensions.extend([0, kind]);
    extensions.extend(sized16(data));
}

fn sized16(data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(data.len()).expect("hellos are short");
    [&length.to_be_bytes()[..], data].concat()
}

fn sized8(data: &[u8]) -> Vec<u8> {
    let length = u8::try_from(data.len()).expect("names are short");
    [&[length][..], data].concat()
}

/// Whether this machine has IPv6 on loopback.
pub(crate) fn has_ipv6() -> bool {
    let localhost: IpAddr = std::net::Ipv6Addr::LOCALHOST.into();
    std::net::TcpListener::bind((localhost, 0)).is_ok()
}
