// What is said on Services, each thing once: a repeat is no news, and a change of its text is.

import type { Problem } from "../../core/problem.ts";
import type { Service } from "../../kube/objects.ts";
import type { Step } from "../../provider/plan.ts";
import type { NodeEvent } from "../node-ports.ts";

const nameOf = ({ metadata: { namespace = "", name } }: Service): string => `${namespace}/${name}`;

export const createTalk = (send: (service: Service, event: NodeEvent) => void) => {
  /** An event without a reason tells nobody anything. */
  const tell = (service: Service, event: NodeEvent): void => {
    if (event.reason !== "") send(service, event);
  };
  const said = new Map<string, Map<string, string>>();
  /** Once per topic and text. */
  const once = (service: Service, topic: string, text: string, event: NodeEvent): void => {
    const key = nameOf(service);
    const topics = said.get(key) ?? new Map<string, string>();
    said.set(key, topics);
    if (topics.get(topic) === text) return;
    topics.set(topic, text);
    tell(service, event);
  };
  return {
    event: tell,
    problems: (service: Service, problems: readonly Problem[], topic = "annotations"): void => {
      const keyOf = ({ reason, text }: Problem): string => `${topic} ${reason} ${text}`;
      const topics = said.get(nameOf(service));
      const now = new Set(problems.map(keyOf));
      // What was mended and comes back is news again.
      for (const known of topics?.keys() ?? []) {
        if (known.startsWith(`${topic} `) && !now.has(known)) topics?.delete(known);
      }
      for (const problem of problems) {
        const { reason, text } = problem;
        once(service, keyOf(problem), text, { type: "Warning", reason, message: text });
      }
    },
    failure: (service: Service, event: NodeEvent): void => once(service, "failure", event.message, event),
    /** It went well: the next failure, wait or drift is news again. */
    recovered: (service: Service): void => {
      for (const topic of ["failure", "waits", "drift"]) said.get(nameOf(service))?.delete(topic);
    },
    waits: (service: Service, what: string): void =>
      once(service, "waits", what, {
        type: "Normal",
        reason: "WaitingForCloud",
        message: `Waiting for ${what}`,
      }),
    drift: (service: Service, steps: readonly Step[], policy: "report" | "repair"): void => {
      const what = steps.map((step) => step.do).join(", ");
      const rest =
        policy === "repair" ? "it is put right" : "it is left as it is, as --load-balancer-drift=report says";
      const message = `The load balancer was changed in the cloud; ${rest}: ${what}`;
      once(service, "drift", message, { type: "Warning", reason: "LoadBalancerDrift", message });
    },
    forget: (key: string): void => void said.delete(key),
  };
};

export type Talk = ReturnType<typeof createTalk>;
