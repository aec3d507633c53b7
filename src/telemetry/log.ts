// Log lines for operators: one per decision that changed something and one per problem. Text in the shape that parsers of
// klog expect, or JSON; named fields, no objects, and secrets print as "[secret]" by their type.

import { type ConsolaReporter, createConsola, type LogObject } from "consola/core";
import type { Clock } from "../platform/clock.ts";

export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

export interface Log {
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** Only with `--v` of at least this level. */
  debug(level: number, message: string, fields?: LogFields): void;
}

export interface LogOptions {
  readonly format: "text" | "json";
  /** A function where it may change while the process runs. */
  readonly verbosity: number | (() => number);
  readonly clock: Clock;
  readonly write: (line: string) => void;
  /** Of the process, as klog prints it. */
  readonly pid?: number;
}

/** Where klog has file and line. Ours would be those of minified code, so we print what fits the same pattern. */
const origin = "fairlead:1";

const severities: Readonly<Record<string, string>> = { info: "I", warn: "W", error: "E", debug: "I" };

const digits = (value: number, count: number): string => String(value).padStart(count, "0");

/** `I1121 08:29:35.000000       1 fairlead:1] `, in local time, as klog. */
function header(type: string, now: number, pid: number): string {
  const at = new Date(now);
  const day = `${digits(at.getMonth() + 1, 2)}${digits(at.getDate(), 2)}`;
  const time = [at.getHours(), at.getMinutes(), at.getSeconds()].map((part) => digits(part, 2)).join(":");
  const micros = digits(Math.floor((now - Math.floor(now / 1000) * 1000) * 1000), 6);
  return `${severities[type] ?? "I"}${day} ${time}.${micros} ${String(pid).padStart(7)} ${origin}] `;
}

const shortEscapes: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** One message is one line, whatever a cloud has put into its errors. */
function onOneLine(text: string): string {
  return text.replace(
    /\p{Cc}/gu,
    (one) => shortEscapes[one] ?? `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function reporter({ format, clock, write, pid = 1 }: LogOptions): ConsolaReporter {
  return {
    log: ({ type, args }: LogObject) => {
      const [message, fields, level] = args as [string, LogFields | undefined, number | undefined];
      const now = clock.now();
      const given = Object.entries(fields ?? {}).filter(([, value]) => value !== undefined);
      if (format === "json") {
        // Time and level as Go's component logs write them.
        const line = { ts: now, level: type === "debug" ? "info" : type, v: level ?? 0, msg: message };
        write(`${JSON.stringify({ ...line, ...Object.fromEntries(given) })}\n`);
        return;
      }
      const tail = given.map(
        ([key, value]) => ` ${key}=${typeof value === "string" ? onOneLine(JSON.stringify(value)) : value}`,
      );
      write(`${header(type, now, pid)}${onOneLine(message)}${tail.join("")}\n`);
    },
  };
}

export function createLog(options: LogOptions): Log {
  const consola = createConsola({ level: 5, throttle: -1, reporters: [reporter(options)] });
  const { verbosity } = options;
  const most = typeof verbosity === "number" ? () => verbosity : verbosity;
  return {
    info: (message, fields) => consola.info(message, fields),
    warn: (message, fields) => consola.warn(message, fields),
    error: (message, fields) => consola.error(message, fields),
    debug: (level, message, fields) => {
      if (level <= most()) consola.debug(message, fields, level);
    },
  };
}
