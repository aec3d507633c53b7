// Where names decide, a machine without the Node's name is used for something else, so it is not the Node's. Pure.

import type { Instance, InstanceSource } from "../provider/instances.ts";
import type { KeyAnswer } from "./instance-index.ts";
import type { NodeIdentity } from "./node-identity.ts";

type Naming = Pick<InstanceSource, "nameDecides">;

/** Whether the machine has another name than the Node, in a source where that matters. */
export function isRenamed({ names }: Instance, { nameDecides }: Naming, { name }: NodeIdentity): boolean {
  return nameDecides === true && names.length > 0 && !names.includes(name);
}

/** The answer about this Node: the same without machines that have another name. */
export function answerAbout(identity: NodeIdentity, answer: KeyAnswer, source: Naming): KeyAnswer {
  if (source.nameDecides !== true) return answer;
  return { ...answer, instances: answer.instances.filter((one) => !isRenamed(one, source, identity)) };
}
