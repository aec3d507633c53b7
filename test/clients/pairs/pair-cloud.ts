// A cloud in which two managers get the same pairs of specifications, and the Services that such a pair becomes there.

import type { RehearsalDefinition } from "../../../scripts/rehearse/cloud.ts";
import type { ServiceText } from "../../../scripts/rehearse/stage.ts";
import { ownPrefix } from "../../../src/controllers/well-known.ts";
import type { JsonObject } from "../../../src/testing/apiserver/objects/json.ts";
import { drawPair, type Pair, type Vocabulary } from "../../support/service-pairs/draw.ts";
import type { PairCloud } from "../../support/service-pairs/oracle.ts";
import { type Specification, specOf } from "../../support/service-pairs/specification.ts";

/** Replacements of texts that differ between two Services with equal specifications, such as ids and node ports. */
export type Aliases = readonly (readonly [text: string, alias: string])[];

/** Texts of annotations and of the spec for one Service; its objects in the cloud belong to no other Service. */
export interface OwnTexts {
  annotation?(key: string, value: string): string;
  spec?(spec: JsonObject): JsonObject;
  readonly aliases: Aliases;
}

/** The cloud objects that a manager has created for a Service. */
export interface SeenService {
  /** The objects in the cloud, without ids. */
  readonly view: unknown;
  /** The ids and addresses that the manager also writes to the Service. */
  readonly aliases: Aliases;
}

/** An opened cloud, for one manager. */
export interface OpenedCloud {
  readonly definition: RehearsalDefinition;
  /** The Node that gets the label pool=web. */
  readonly labeled: string;
  /** Creates the objects that the specifications name. `port`: the first of ten node ports of the Service. */
  prepare(name: string, port: number, specifications: readonly Specification[]): Promise<OwnTexts>;
  /** Reads the cloud. */
  read(): Promise<(name: string) => SeenService>;
  dispose?(): Promise<void>;
}

export interface PeerCloud {
  /** The name of the cloud's page. */
  readonly name: string;
  readonly vocabulary: Vocabulary & Pick<PairCloud<unknown>, "atCreation" | "incomparable">;
  /** The number of consecutive seeds whose pairs share a cloud. */
  readonly perCloud: number;
  /** `number`: counts the clouds, so that they can differ in their settings. */
  open(number: number): Promise<OpenedCloud>;
}

/** The node ports of drawn specifications. */
const nodePorts = [30_080, 30_443, 31_080, 30_053, 30_081, 30_132, 32_000];
export const portsPerService = 10;

export const portAliases = (first: number): Aliases =>
  nodePorts.map((port, index) => [String(first + index), String(port)]);

/** The specification as a Service with its own node ports. */
export function textOf(specification: Specification, first: number, own: OwnTexts): ServiceText {
  const port = (drawn: unknown) => {
    const index = nodePorts.indexOf(Number(drawn));
    if (index < 0) throw new Error(`The node port ${drawn} is not known.`);
    return first + index;
  };
  const { ports, healthCheckNodePort: check, ...others } = specOf(specification);
  const spec = {
    ...others,
    ports: (ports as readonly JsonObject[]).map((one) => ({ ...one, nodePort: port(one["nodePort"]) })),
    ...(check !== undefined && { healthCheckNodePort: port(check) }),
  };
  const { annotation = (_, value) => value, spec: change = (one) => one } = own;
  const annotations = Object.entries(specification.annotations);
  return {
    annotations: Object.fromEntries(annotations.map(([key, value]) => [key, annotation(key, value)])),
    spec: change(spec),
  };
}

/** Without the parts that only Fairlead knows, or that take a Service from both managers. */
function known({ annotations, parts }: Specification): Specification {
  const without = <T>(all: Readonly<Record<string, T>>, isLeft: (name: string) => boolean) =>
    Object.fromEntries(Object.entries(all).filter(([name]) => !isLeft(name)));
  return {
    annotations: without(annotations, (name) => name.startsWith(ownPrefix)),
    parts: without(parts, (name) => name === "spec class"),
  };
}

/** The pair of this seed; undefined if its specifications are equal. */
export function peerPair(seed: number, vocabulary: Vocabulary): Pair | undefined {
  const { first, second, invalid } = drawPair(seed, vocabulary);
  const pair = { seed, first: known(first), second: known(second), invalid };
  return Bun.deepEquals(pair.first, pair.second) ? undefined : pair;
}
