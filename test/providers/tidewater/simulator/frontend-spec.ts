// What a frontend and its pools consist of, and which values a request may give them.

import { parseCidr } from "#ccm";
import { isText } from "./answer.ts";

export interface SimulatedPool {
  readonly id: string;
  readonly protocol: string;
  readonly port: number;
  readonly machine_port: number;
  /** Addresses of machines. */
  readonly members: readonly string[];
}

export interface SimulatedFrontend {
  readonly id: string;
  readonly label: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly class: keyof typeof limits;
  /** Null: all clients. */
  readonly allow: readonly string[] | null;
  /** Null while it is built, and when that failed. */
  readonly address: string | null;
  readonly pools: readonly SimulatedPool[];
  readonly broken: boolean;
  readonly stamp: number;
}

export const limits = { compact: { pools: 3, members: 4 }, wide: { pools: 12, members: 16 } } as const;
export type FrontendSpec = Pick<SimulatedFrontend, "label" | "tags" | "class" | "allow">;
export type PoolSpec = Omit<SimulatedPool, "id" | "members">;

const isRange = (value: unknown): boolean =>
  parseCidr(String(value)) !== undefined && !String(value).endsWith("/0");
export const isAllow = (value: unknown): boolean =>
  value === null || (Array.isArray(value) && value.length > 0 && value.every(isRange));
export const isTags = (value: unknown): boolean =>
  typeof value === "object" && value !== null && Object.values(value).every(isText);
const isPort = (value: unknown): boolean =>
  Number.isInteger(value) && Number(value) > 0 && Number(value) < 65_536;
const isProtocol = (value: unknown): boolean => value === "tcp" || value === "udp";
export const forFrontend = {
  label: (value: unknown) => /^[a-z][a-z0-9-]{0,31}$/.test(String(value)),
  class: (value: unknown) => Object.hasOwn(limits, String(value)),
  tags: isTags,
  allow: isAllow,
};
export const forPool = { protocol: isProtocol, port: isPort, machine_port: isPort };
