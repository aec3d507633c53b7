// The page /debug/explain: why a Node or a Service is as it is, as JSON. Without a name, all that are not settled.

import type { ServedResponse } from "../../platform/listener.ts";
import { jsonAnswer, refusal } from "../../server/answers.ts";
import type { Page } from "../../server/secure-port.ts";
import {
  type Described,
  describeEverything,
  describeObject,
  isNotFound,
} from "../describe/describe-object.ts";
import { describedKinds } from "../describe/description.ts";
import type { Manager } from "../manager/manager.ts";

export function explainPage(manager: Described & Pick<Manager, "identity">): Page {
  return ({ query }): ServedResponse => {
    const asked = query.get("kind");
    const name = query.get("name");
    const from = { identity: manager.identity, leads: manager.leads(), mode: manager.flags.mode };
    if (asked === null && name === null) {
      const all = query.get("all") === "true";
      return jsonAnswer({ ...from, objects: describeEverything(manager, all) });
    }
    const kind = describedKinds.find((one) => one.toLowerCase() === asked?.toLowerCase());
    if (kind === undefined || name === null || name === "") {
      return refusal(400, "Expected ?kind=node&name=NAME or ?kind=service&name=NAMESPACE/NAME.");
    }
    const answer = describeObject(manager, kind, name);
    return jsonAnswer({
      ...from,
      objects: isNotFound(answer) ? [] : [answer],
      ...(isNotFound(answer) && { notFound: answer }),
    });
  };
}
