// Log lines for operators: one per decision that changed something and one per problem. Text for people, JSON for
// machines; named fields, no objects, and secrets print as "[secret]" by their type.

import { type ConsolaReporter, createConsola, type LogObject } from "consola/core";
import type { Clock } from "../seams/clock.ts";

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
  readonly verbosity: number;
  readonly clock: Clock;
  readonly write: (line: string) => void;
}

const severities: Readonly<Record<string, string>> = { info: "I", warn: "W", error: "E", debug: "D" };

const reporter = ({ format, clock, write }: LogOptions): ConsolaReporter => ({
  log: ({ type, args }: LogObject) => {
    const [message, fields] = args as [string, LogFields | undefined];
    const time = new Date(clock.now()).toISOString();
    const given = Object.entries(fields ?? {}).filter(([, value]) => value !== undefined);
    if (format === "json") {
      write(`${JSON.stringify({ ts: time, level: type, msg: message, ...Object.fromEntries(given) })}\n`);
      return;
    }
    const tail = given.map(
      ([key, value]) => ` ${key}=${typeof value === "string" ? JSON.stringify(value) : value}`,
    );
    write(`${severities[type] ?? "I"} ${time} ${message}${tail.join("")}\n`);
  },
});

export const createLog = (options: LogOptions): Log => {
  const consola = createConsola({ level: 5, throttle: -1, reporters: [reporter(options)] });
  return {
    info: (message, fields) => consola.info(message, fields),
    warn: (message, fields) => consola.warn(message, fields),
    error: (message, fields) => consola.error(message, fields),
    debug: (level, message, fields) => {
      if (level <= options.verbosity) consola.debug(message, fields);
    },
  };
};
