// The log: text lines that klog parsers understand, or JSON. Field values are scalars. `src/app/run.ts` redacts the output.

import {
  type ConsolaOptions,
  type ConsolaReporter,
  createConsola,
  LogLevels,
  type LogObject,
} from "consola/core";
import type { Clock } from "../platform/clock.ts";

export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

export interface Log {
  info(message: string, fields?: LogFields): void;
  /** `promise`: what a running manager does next; one-time commands do not log it. */
  warn(message: string, fields?: LogFields, promise?: string): void;
  error(message: string, fields?: LogFields): void;
  /** Logged only when `--v` is at least `verbosity`. */
  debug(verbosity: number, message: string, fields?: LogFields): void;
}

export interface AdjustableLog extends Log {
  /** Applies from the next line on. */
  setVerbosity(verbosity: number): void;
}

export interface LogOptions {
  readonly format: "text" | "json";
  readonly verbosity: number;
  readonly clock: Clock;
  readonly write: (line: string) => void;
  /** The process id, as klog prints it. */
  readonly pid?: number;
}

/** klog prints file and line here. In minified code they mean nothing, so a constant takes their place. */
const origin = "fairlead:1";

const severities: Readonly<Record<string, string>> = { info: "I", warn: "W", error: "E" };

const digits = (value: number, count: number): string => String(value).padStart(count, "0");

/** `I1121 08:29:35.000000       1 fairlead:1] `, in local time, as in klog. */
function header(type: string, now: number, pid: number): string {
  const at = new Date(now);
  const day = `${digits(at.getMonth() + 1, 2)}${digits(at.getDate(), 2)}`;
  const time = [at.getHours(), at.getMinutes(), at.getSeconds()].map((part) => digits(part, 2)).join(":");
  const micros = digits(Math.floor((now - Math.floor(now / 1000) * 1000) * 1000), 6);
  return `${severities[type] ?? "I"}${day} ${time}.${micros} ${String(pid).padStart(7)} ${origin}] `;
}

const shortEscapes: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** Keeps a message on one line, whatever control characters a cloud error contains. */
function onOneLine(text: string): string {
  return text.replace(
    /\p{Cc}/gu,
    (one) => shortEscapes[one] ?? `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** klog's verbosity n is consola's level `info + n`, so that consola drops lines above the verbosity. */
const levelOf = (verbosity: number): number => LogLevels.info + verbosity;
const maxVerbosity = 10;
const debugType = (verbosity: number): string => `v${Math.min(verbosity, maxVerbosity)}`;

const types: Readonly<Record<string, { readonly level: number }>> = {
  error: { level: LogLevels.error },
  warn: { level: LogLevels.warn },
  ...Object.fromEntries(
    Array.from({ length: maxVerbosity + 1 }, (_, verbosity) => [
      debugType(verbosity),
      { level: levelOf(verbosity) },
    ]),
  ),
};

function reporter({ format, clock, write, pid = 1 }: LogOptions): ConsolaReporter {
  return {
    log: ({ type, level, args }: LogObject) => {
      const [message, fields = {}] = args as [string, LogFields | undefined];
      const now = clock.now();
      const given = Object.entries(fields).filter(([, value]) => value !== undefined);
      const isProblem = type === "error" || type === "warn";
      if (format === "json") {
        // Time and level as Go's component logs write them.
        const v = isProblem ? 0 : level - LogLevels.info;
        const line = { ts: now, level: isProblem ? type : "info", v, msg: message };
        write(`${JSON.stringify({ ...line, ...Object.fromEntries(given) })}\n`);
        return;
      }
      const tail = given.map(
        ([key, value]) => ` ${key}=${typeof value === "string" ? onOneLine(JSON.stringify(value)) : value}`,
      );
      write(`${header(isProblem ? type : "info", now, pid)}${onOneLine(message)}${tail.join("")}\n`);
    },
  };
}

type LogLine = (message: string, fields?: LogFields) => void;

export function createLog(options: LogOptions): AdjustableLog {
  // Without a throttle, which would merge repeated lines.
  const consola = createConsola({
    types: types as ConsolaOptions["types"],
    level: levelOf(options.verbosity),
    throttle: -1,
    reporters: [reporter(options)],
  });
  const line = (type: string): LogLine => (consola as unknown as Record<string, LogLine>)[type] as LogLine;
  return {
    info: line(debugType(0)),
    warn: (message, fields, promise) =>
      line("warn")(promise === undefined ? message : `${message} ${promise}`, fields),
    error: line("error"),
    debug: (verbosity, message, fields) => {
      // Each request has a line, which is dropped by default.
      if (levelOf(verbosity) <= consola.level) line(debugType(verbosity))(message, fields);
    },
    setVerbosity: (verbosity) => {
      consola.level = levelOf(verbosity);
    },
  };
}
