// Generates src/volumes/csi/spec.ts from csi.proto of the CSI specification: the services that
// Fairlead serves, with their messages and enums as tables. Pass the path of the file, for example
// `$(go list -m -f {{.Dir}} github.com/container-storage-interface/spec@v1.13.0)/csi.proto`.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Alpha methods, and those of features that no provider has, would only add messages. */
const served: Readonly<Record<string, readonly string[]>> = {
  Identity: ["GetPluginInfo", "GetPluginCapabilities", "Probe"],
  Controller: [
    ...["CreateVolume", "DeleteVolume", "ControllerPublishVolume", "ControllerUnpublishVolume"],
    ...["ValidateVolumeCapabilities", "ListVolumes", "ControllerGetCapabilities", "ControllerExpandVolume"],
    ...["CreateSnapshot", "DeleteSnapshot", "ListSnapshots", "GetSnapshot"],
  ],
  Node: [
    ...["NodeStageVolume", "NodeUnstageVolume", "NodePublishVolume", "NodeUnpublishVolume"],
    ...["NodeGetVolumeStats", "NodeExpandVolume", "NodeGetCapabilities", "NodeGetInfo"],
  ],
};

const wrappers: Readonly<Record<string, Record<string, string>>> = {
  BoolValue: { value: "1 bool" },
  Timestamp: { seconds: "1 int64", nanos: "2 int32" },
};
const scalars = ["string", "bool", "int32", "int64"];

interface Block {
  readonly kind: string;
  readonly name: string;
  readonly body: readonly string[];
  readonly blocks: readonly Block[];
}

/** Statements and nested blocks, in order. Comments and options are removed before. */
function parseBlock(tokens: Iterator<string>): Pick<Block, "body" | "blocks"> {
  const body: string[] = [];
  const blocks: Block[] = [];
  let words: string[] = [];
  for (let next = tokens.next(); next.done !== true && next.value !== "}"; next = tokens.next()) {
    if (next.value === ";") {
      if (words.length > 0) body.push(words.join(" "));
      words = [];
    } else if (next.value === "{") {
      const [kind = "", name = ""] = words;
      const inner = parseBlock(tokens);
      if (kind === "rpc") body.push(words.join(" "));
      else blocks.push({ kind, name, ...inner });
      words = [];
    } else words.push(next.value);
  }
  return { body, blocks };
}

function parseProto(text: string): Pick<Block, "body" | "blocks"> {
  const plain = text
    .replace(/\/\/[^\n]*|\/\*[\s\S]*?\*\//g, "")
    .replace(/\[[^\]]*\]/g, "")
    .replace(/map\s*<\s*string\s*,\s*string\s*>/g, "map");
  return parseBlock((plain.match(/[{};]|[^\s{};]+/g) ?? []).values());
}

/** `volume_id` is `volumeID`, and other names are as in JSON. */
function fieldName(name: string): string {
  return name
    .replace(/_ids\b/, "IDs")
    .replace(/_id\b/, "ID")
    .replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

class Tables {
  readonly messages: Record<string, Record<string, string>> = {};
  readonly enums: Record<string, Record<string, number>> = {};
  readonly #known = new Map<string, Block>();

  constructor(blocks: readonly Block[]) {
    this.#index(blocks, "");
  }

  #index(blocks: readonly Block[], prefix: string): void {
    for (const block of blocks) {
      const name = `${prefix}${block.name}`;
      if (["message", "enum"].includes(block.kind)) this.#known.set(name, block);
      if (block.kind === "message") this.#index(block.blocks, `${name}.`);
    }
  }

  /** Adds a type that is used, and returns its full name. A nested name is searched from the inside. */
  use(name: string, from = ""): string {
    if (scalars.includes(name) || name === "map") return name;
    const wrapper = name.replace(/^\.google\.protobuf\./, "");
    const fields = wrappers[wrapper];
    if (fields !== undefined) {
      this.messages[wrapper] = fields;
      return wrapper;
    }
    const parts = from.split(".");
    const scopes = parts.map((_, index) => [...parts.slice(0, parts.length - index), name].join("."));
    const full = [...scopes, name].find((candidate) => this.#known.has(candidate));
    const block = full === undefined ? undefined : this.#known.get(full);
    if (full === undefined || block === undefined) throw new Error(`csi.proto has no ${name} for ${from}.`);
    if (block.kind === "enum") this.enums[full] = Object.fromEntries(enumValues(block));
    else if (this.messages[full] === undefined) this.#addMessage(full, block);
    return full;
  }

  #addMessage(full: string, { body, blocks }: Block): void {
    const fields: Record<string, string> = {};
    this.messages[full] = fields;
    const unions = blocks.filter(({ kind }) => kind === "oneof").flatMap((each) => each.body);
    for (const statement of [...body, ...unions]) {
      const [, repeated = "", type = "", name = "", number = ""] =
        /^(repeated )?(\S+) (\w+) = (\d+)$/.exec(statement) ?? [];
      if (number === "") {
        if (/^(option|reserved) /.test(statement)) continue;
        throw new Error(`Unknown statement in ${full}: ${statement}`);
      }
      const used = this.use(type, full);
      if (repeated !== "" && used !== "string" && this.messages[used] === undefined)
        throw new Error(`${full}.${name} repeats ${used}, which the codec does not support.`);
      fields[fieldName(name)] = `${number} ${repeated}${used}`;
    }
  }
}

const enumValues = ({ body }: Block): readonly (readonly [string, number])[] =>
  body.flatMap((statement) => {
    const [, name = "", number = ""] = /^(\w+) = (\d+)$/.exec(statement) ?? [];
    return name === "" ? [] : [[name, Number(number)] as const];
  });

export function generateSpec(proto: string): string {
  const { blocks } = parseProto(proto);
  const tables = new Tables(blocks);
  const services = Object.fromEntries(
    Object.entries(served).map(([service, names]) => {
      const { body = [] } = blocks.find(({ kind, name }) => kind === "service" && name === service) ?? {};
      const declared = new Map(
        body.map((statement) => {
          const [, name = "", request = "", response = ""] =
            /^rpc (\w+) ?\((\w+)\) returns \((\w+)\)$/.exec(statement) ?? [];
          return [name, [request, response]] as const;
        }),
      );
      const methods = names.map((name) => {
        const used = declared.get(name)?.map((type) => tables.use(type));
        if (used === undefined) throw new Error(`csi.proto has no method ${service}.${name}.`);
        return [name, used] as const;
      });
      return [service, Object.fromEntries(methods)];
    }),
  );
  const sorted = <T>(table: Readonly<Record<string, T>>): Readonly<Record<string, T>> =>
    Object.fromEntries(Object.entries(table).toSorted(([one], [other]) => (one < other ? -1 : 1)));
  const schema = { messages: sorted(tables.messages), enums: sorted(tables.enums) };
  return [
    "// The messages and services of CSI 1.13 that Fairlead uses. Generated from csi.proto by scripts/csi/generate.ts.",
    "",
    `export const csiSchema = ${JSON.stringify(schema)} as const;`,
    "",
    "export type CsiSchema = typeof csiSchema;",
    "",
    `export const csiServices = ${JSON.stringify(services)} as const;`,
    "",
  ].join("\n");
}

if (import.meta.main) {
  const [path] = process.argv.slice(2);
  if (path === undefined) throw new Error("Pass the path of csi.proto.");
  const target = join(import.meta.dir, "../../src/volumes/csi/spec.ts");
  writeFileSync(target, generateSpec(readFileSync(path, "utf8")));
  process.stdout.write(`${target} is generated. Format it with npm run check -- --fix.\n`);
}
