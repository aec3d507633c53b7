// Sends state messages to systemd, one datagram each. Neither Bun nor node:dgram supports Unix datagram sockets, so this calls
// four functions of the C library (decision 0003).

import { dlopen, ptr } from "bun:ffi";

export interface NotifySocket {
  /** Sends a message such as `READY=1`; false when the socket did not accept it. */
  readonly send: (message: string) => boolean;
  /** Microseconds of the clock that systemd uses (CLOCK_MONOTONIC). */
  readonly monotonic: () => bigint;
}

/** glibc, then musl per architecture. */
const libraries = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];
const functions = {
  socket: { args: ["i32", "i32", "i32"], returns: "i32" },
  sendto: { args: ["i32", "ptr", "u64", "i32", "ptr", "u32"], returns: "i64" },
  clock_gettime: { args: ["i32", "ptr"], returns: "i32" },
  close: { args: ["i32"], returns: "i32" },
} as const;

/** Constants of Linux, the only system with systemd. */
const [unix, datagram, closeOnExec] = [1, 2, 0o2000000];
const [dontWait, noSignal] = [0x40, 0x4000];
const maxPath = 107;

function openLibrary() {
  for (const library of libraries) {
    try {
      return dlopen(library, functions).symbols;
    } catch {
      // This machine has a different C library.
    }
  }
  return undefined;
}

/** A `sockaddr_un`. A path that begins with "@" is abstract: its first byte is zero. */
function addressOf(path: string): Uint8Array {
  const name = new TextEncoder().encode(path);
  if (path.startsWith("@")) name[0] = 0;
  const address = new Uint8Array(2 + name.length);
  new Uint16Array(address.buffer, 0, 1)[0] = unix;
  address.set(name, 2);
  return address;
}

/** Undefined if the path or this system does not support it; the caller reports that. Messages are not retried. */
export function openNotifySocket(path: string): NotifySocket | undefined {
  if (!/^[/@]/.test(path) || Buffer.byteLength(path) > maxPath) return undefined;
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
