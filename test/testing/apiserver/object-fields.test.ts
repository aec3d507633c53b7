// The fields that the test API server supports, compared with the models of the official client.

import { expect, test } from "bun:test";
import * as models from "@kubernetes/client-node/dist/gen/models/all.js";
import { type FieldType, fieldsOf, typeNames } from "../../../src/testing/apiserver/objects/object-fields.ts";

interface Attribute {
  readonly baseName: string;
  readonly type: string;
  readonly format: string;
}

/** The models of types with shorter names in the table. */
const modelNames: Readonly<Record<string, string>> = {
  CSIVolume: "V1CSIPersistentVolumeSource",
  Event: "CoreV1Event",
  EventSeries: "CoreV1EventSeries",
  SlicePort: "DiscoveryV1EndpointPort",
  VolumeResources: "V1VolumeResourceRequirements",
};
const modelOf = (type: string): string => modelNames[type] ?? `V1${type}`;

function attributesOf(type: string): ReadonlyMap<string, Attribute> {
  const model = (models as Readonly<Record<string, unknown>>)[modelOf(type)];
  const list = (model as { getAttributeTypeMap?(): readonly Attribute[] })?.getAttributeTypeMap?.() ?? [];
  return new Map(list.map((attribute) => [attribute.baseName, attribute]));
}

/** The type of an attribute. Quantities and names are strings in the models, and "o" is any type. */
function describe(type: FieldType): RegExp {
  const inner = (nested: FieldType): string => describe(nested).source.slice(1, -1);
  switch (type.is) {
    case "list":
      return new RegExp(`^Array<${inner(type.item)}>$`);
    case "map":
      return new RegExp(`^\\{ \\[key: string\\]: ${inner(type.item)}; \\}$`);
    case "type":
      return new RegExp(`^${modelOf(type.name)}$`);
    case "scalar":
      return scalars[type.scalar];
  }
}
const scalars = {
  s: /^string$/,
  y: /^string$/,
  q: /^string$/,
  i: /^number$/,
  n: /^number$/,
  b: /^boolean$/,
  t: /^(?:Date|V1MicroTime)$/,
  x: /^IntOrString$/,
  o: /^.+$/,
} as const;

/** Fields that no test needs, such as the volumes before CSI. */
const omitted: Readonly<Record<string, readonly string[]>> = {
  DeleteOptions: ["ignoreStoreReadErrorWithClusterBreakingPotential"],
  PersistentVolumeSpec: [
    ...["awsElasticBlockStore", "azureDisk", "azureFile", "cephfs", "cinder", "fc", "flexVolume", "flocker"],
    ...["gcePersistentDisk", "glusterfs", "iscsi", "local", "nfs", "photonPersistentDisk", "portworxVolume"],
    ...["quobyte", "rbd", "scaleIO", "storageos", "vsphereVolume"],
  ],
  ResourceAttributes: ["fieldSelector", "labelSelector"],
};

test("the test API server has the types and fields of the official client's models", () => {
  const wrong = typeNames.flatMap((type) => {
    const attributes = attributesOf(type);
    if (attributes.size === 0) return [`${type}: there is no model ${modelOf(type)}`];
    return [...(fieldsOf(type) ?? [])].flatMap(([name, field]) => {
      const found = attributes.get(name)?.type;
      const expected = describe(field.type);
      if (found !== undefined && expected.test(found)) return [];
      return [`${type}.${name}: is ${found ?? "absent"}, expected ${expected.source}`];
    });
  });
  expect(wrong).toEqual([]);
});

test("the test API server lacks only the fields that this test names", () => {
  const lacking = typeNames.flatMap((type): readonly (readonly [string, readonly string[]])[] => {
    const names = [...attributesOf(type).keys()].filter((name) => !fieldsOf(type)?.has(name));
    return names.length === 0 ? [] : [[type, names]];
  });
  expect(Object.fromEntries(lacking)).toEqual(omitted);
});
