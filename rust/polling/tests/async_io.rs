//! async-io on this crate, by the line of [patch] in Cargo.toml.

use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::FromRawFd;
use std::process::Command;
use std::time::{Duration, Instant};

use async_io::{Async, Timer};
use futures_lite::{future, AsyncReadExt, AsyncWriteExt, StreamExt};

#[test]
fn it_is_xpoll_that_async_io_runs_on() {
    if std::env::var_os("POLLING_TEST_CHILD").is_some() {
        async_io::block_on(Timer::after(Duration::from_millis(1)));
        return;
    }
    let run = |backend| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "it_is_xpoll_that_async_io_runs_on"]);
        command.env("POLLING_TEST_CHILD", "1").env("XPOLL_BACKEND", backend);
        command.output().unwrap().status.success()
    };
    assert!(run("poll"));
    assert!(!run("no-such-back-end"));
}

async fn echo(mut stream: Async<TcpStream>) -> std::io::Result<()> {
    let mut text = [0; 1000];
    loop {
        match stream.read(&mut text).await? {
            0 => return Ok(()),
            count => stream.write_all(&text[..count]).await?,
        }
    }
}

#[test]
fn clients_and_their_server_talk_in_one_thread() {
    async_io::block_on(async {
        let listener = Async::<TcpListener>::bind(([127, 0, 0, 1], 0)).unwrap();
        let address = listener.get_ref().local_addr().unwrap();
        let client = |number: u8| async move {
            let mut stream = Async::<TcpStream>::connect(address).await.unwrap();
            let text = vec![number; 100_000];
            let (mut reader, mut writer) = (&stream, &stream);
            let mut back = vec![0; text.len()];
            let (sent, got) =
                future::zip(writer.write_all(&text), reader.read_exact(&mut back)).await;
            sent.and(got).unwrap();
            assert_eq!(back, text);
            stream.close().await.unwrap();
        };
        let server = async {
            let mut incoming = Box::pin(listener.incoming());
            for _ in 0..3 {
                echo(incoming.next().await.unwrap().unwrap()).await.unwrap();
            }
        };
        let clients = async {
            for number in 1..=3 {
                client(number).await;
            }
        };
        future::zip(server, clients).await;
    });
}

#[test]
fn timers_are_not_early() {
    async_io::block_on(async {
        let begin = Instant::now();
        let mut ticks = Timer::interval(Duration::from_micros(1500));
        for tick in 1..=10 {
            ticks.next().await;
            assert!(begin.elapsed() >= Duration::from_micros(1500) * tick);
        }
    });
}

/// A socket that has a port and does not listen: nobody else can have the port meanwhile.
fn bound() -> UdpSocket {
    let mut address: libc::sockaddr_in = unsafe { std::mem::zeroed() };
    address.sin_family = libc::AF_INET as libc::sa_family_t;
    address.sin_addr.s_addr = u32::from(std::net::Ipv4Addr::LOCALHOST).to_be();
    let size = std::mem::size_of_val(&address) as libc::socklen_t;
    let pointer: *const libc::sockaddr_in = &address;
    unsafe {
        let fd = libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0);
        assert!(fd >= 0);
        assert_eq!(libc::bind(fd, pointer.cast(), size), 0);
        // Only its address is asked for, which is the same of any socket.
        UdpSocket::from_raw_fd(fd)
    }
}

#[test]
fn a_refused_connection_is_an_error() {
    async_io::block_on(async {
        let socket = bound();
        let address = socket.local_addr().unwrap();
        let error = Async::<TcpStream>::connect(address).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    });
}
