// What is said on Services, each thing once: a repeat is no news, and a change of its text is.

import type { Problem } from "../../../core/problem.ts";
import { keyOf, type Service } from "../../../kube/objects.ts";
import type { Step } from "../../../provider/plan.ts";
import type { NodeEvent } from "../../node-deps.ts";
import { ReportDeduplicator } from "../../report-deduplicator.ts";

/** What is told of one topic replaces what was told of it before, and says nothing about the others. */
const topics = ["annotations", "adoption", "plan", "failure", "waits", "drift"] as const;
type Topic = (typeof topics)[number];
/** What was found wrong, by the stage that found it. */
export type ProblemTopic = Extract<Topic, "annotations" | "adoption" | "plan">;
/** Over when it went well: the next one is news again. */
const passing = ["failure", "waits", "drift"] as const satisfies readonly Topic[];

export function createServiceReporter(send: (service: Service, event: NodeEvent) => void) {
  const said = new ReportDeduplicator();
  const subjectOf = (key: string, topic: Topic): string => `${key} ${topic}`;
  /** An event without a reason tells nobody anything. */
  const report = (service: Service, event: NodeEvent): void => {
    if (event.reason !== "") send(service, event);
  };
  const once = (service: Service, topic: Topic, events: readonly NodeEvent[]): void => {
    const reported = events.map((event) => ({ event, text: `${event.reason} ${event.message}` }));
    const subject = subjectOf(keyOf(service.metadata), topic);
    for (const { event } of said.news(subject, reported)) report(service, event);
  };
  return {
    event: report,
    problems: (service: Service, problems: readonly Problem[], topic: ProblemTopic): void => {
      const toEvent = ({ reason, text }: Problem) => ({ type: "Warning", reason, message: text }) as const;
      once(service, topic, problems.map(toEvent));
    },
    failure: (service: Service, event: NodeEvent): void => once(service, "failure", [event]),
    recovered: (service: Service): void => {
      for (const topic of passing) once(service, topic, []);
    },
    waits: (service: Service, what: string): void =>
      once(service, "waits", [{ type: "Normal", reason: "WaitingForCloud", message: `Waiting for ${what}` }]),
    drift: (service: Service, steps: readonly Step[], policy: "report" | "repair"): void => {
      const what = steps.map((step) => step.do).join(", ");
      const rest =
        policy === "repair" ? "it is put right" : "it is left as it is, as --load-balancer-drift=report says";
      const message = `The load balancer was changed in the cloud; ${rest}: ${what}`;
      once(service, "drift", [{ type: "Warning", reason: "LoadBalancerDrift", message }]);
    },
    /** The warnings that hold, reason first, by Service. To wait is no trouble. */
    get activeProblems(): ReadonlyMap<string, readonly string[]> {
      const found = new Map<string, readonly string[]>();
      for (const [subject, texts] of said.all) {
        const [key = "", topic] = subject.split(" ");
        if (topic !== "waits") found.set(key, [...(found.get(key) ?? []), ...texts]);
      }
      return found;
    },
    forget: (key: string): void => {
      for (const topic of topics) said.forget(subjectOf(key, topic));
    },
  };
}

export type ServiceReporter = ReturnType<typeof createServiceReporter>;
