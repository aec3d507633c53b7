// The socket on which a service manager (systemd) hears how its service is: one datagram per message. Neither Bun nor
// node:dgram can send to a Unix socket of datagrams, so four functions of the C library are called; see decision 0012.

import { dlopen, ptr } from "bun:ffi";

export interface NotifySocket {
  /** Sends a message such as `READY=1`; true when it was handed over. */
  readonly send: (message: string) => boolean;
  /** Microseconds by the clock that systemd compares with. */
  readonly monotonic: () => bigint;
}

/** glibc, then musl by architecture. */
const libraries = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];
const functions = {
  socket: { args: ["i32", "i32", "i32"], returns: "i32" },
  sendto: { args: ["i32", "ptr", "u64", "i32", "ptr", "u32"], returns: "i64" },
  clock_gettime: { args: ["i32", "ptr"], returns: "i32" },
  close: { args: ["i32"], returns: "i32" },
} as const;

/** Of Linux, where alone there is systemd. */
const [unix, datagram, closeOnExec] = [1, 2, 0o2000000];
const [dontWait, noSignal] = [0x40, 0x4000];
const longestPath = 107;

function openLibrary() {
  for (const library of libraries) {
    try {
      return dlopen(library, functions).symbols;
    } catch {
      // Another C library is on this machine.
    }
  }
  return undefined;
}

/** `sockaddr_un`; a path that begins with "@" is abstract, which is a zero byte on the wire. */
function addressOf(path: string): Uint8Array {
  const name = new TextEncoder().encode(path);
  if (path.startsWith("@")) name[0] = 0;
  const address = new Uint8Array(2 + name.length);
  new Uint16Array(address.buffer, 0, 1)[0] = unix;
  address.set(name, 2);
  return address;
}

/** Undefined where it cannot be done, which the caller says; a message that is not taken is not tried again. */
export function openNotifySocket(path: string): NotifySocket | undefined {
  if (!/^[/@]/.test(path) || Buffer.byteLength(path) > longestPath) return undefined;
  const library = openLibrary();
  if (library === undefined) return undefined;
  const address = addressOf(path);
  const send = (message: string): boolean => {
    const bytes = new TextEncoder().encode(message);
    const socket = library.socket(unix, datagram | closeOnExec, 0);
    if (socket < 0) return false;
    const sent = library.sendto(
      socket,
      ptr(bytes),
      BigInt(bytes.length),
      dontWait | noSignal,
      ptr(address),
      address.length,
    );
    library.close(socket);
    return Number(sent) === bytes.length;
  };
  const monotonic = (): bigint => {
    const [time, clockMonotonic] = [new BigInt64Array(2), 1];
    library.clock_gettime(clockMonotonic, ptr(time));
    return (time[0] ?? 0n) * 1_000_000n + (time[1] ?? 0n) / 1000n;
  };
  return { send, monotonic };
}
