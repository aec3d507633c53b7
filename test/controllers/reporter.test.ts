import { describe, expect, test } from "bun:test";
import {
  allFindings,
  type ObjectEvent,
  problemEvent,
  Reporter,
  ReportsByName,
} from "../../src/controllers/reporter.ts";

const events = (...messages: readonly string[]): readonly ObjectEvent[] =>
  messages.map((message) => ({ type: "Warning", reason: "Wrong", message }));

const object = (name: string, uid = name) => ({ metadata: { name, uid } });

function setUp() {
  const sent: string[] = [];
  const reports = new ReportsByName<"plan" | "failure">();
  const reporter = new Reporter<ReturnType<typeof object>, "plan" | "failure">(
    ({ metadata }, { message }) => void sent.push(`${metadata.name}: ${message}`),
    reports,
  );
  return { sent, reports, reporter, takeSent: () => sent.splice(0) };
}

describe("the reporter", () => {
  test("sends new events and returning ones, not lasting ones", () => {
    const { reporter, takeSent } = setUp();
    reporter.report(object("a"), "plan", events("x", "y", "x"));
    expect(takeSent()).toEqual(["a: x", "a: y"]);
    reporter.report(object("a"), "plan", events("y", "z"));
    expect(takeSent()).toEqual(["a: z"]);
    reporter.report(object("b"), "plan", events("y"));
    expect(takeSent()).toEqual(["b: y"]);
    reporter.report(object("a"), "plan", events("x", "z"));
    expect(takeSent()).toEqual(["a: x"]);
  });

  test("sends what another topic has sent already, because each topic ends at another time", () => {
    const { reporter, takeSent } = setUp();
    reporter.report(object("a"), "plan", events("x"));
    reporter.report(object("a"), "failure", events("x"));
    reporter.report(object("a"), "failure", []);
    reporter.report(object("a"), "plan", events("x"));
    expect(takeSent()).toEqual(["a: x", "a: x"]);
  });

  test("sends an event once while its identity lasts, keeps its last message, and distinguishes reasons", () => {
    const { reporter, reports, takeSent } = setUp();
    for (const [reason, message] of [
      ["Wait", "5s"],
      ["Wait", "4s"],
      ["Hold", "4s"],
    ] as const) {
      reporter.report(object("a"), "plan", [{ type: "Warning", reason, message, identity: "" }]);
    }
    expect(takeSent()).toEqual(["a: 5s", "a: 4s"]);
    expect(allFindings(reports.get("a"))).toEqual([{ kind: "problem", reason: "Hold", text: "4s" }]);
  });

  test("finds problems, waits, holds and notices by topic and type", () => {
    const send = () => undefined;
    const reports = new ReportsByName<string>();
    const reporter = new Reporter<ReturnType<typeof object>, string>(send, reports);
    const event = (type: ObjectEvent["type"]) => [{ type, reason: "R", message: type }];
    reporter.report(object("a"), "plan", event("Warning"));
    reporter.report(object("a"), "attach", event("Normal"));
    for (const topic of ["hold", "waiting", "notices"]) reporter.report(object("a"), topic, event("Warning"));
    expect(allFindings(reports.get("a")).map(({ kind, reason }) => `${kind} ${reason}`)).toEqual([
      "problem R",
      "wait R",
      "hold R",
      "wait R",
      "notice Notice",
    ]);
  });

  test("keeps an event without a reason as a finding, and does not send it", () => {
    const { reporter, reports, takeSent } = setUp();
    const event = problemEvent({ severity: "warning", reason: "", text: "x" });
    reporter.report(object("a"), "plan", [event]);
    reporter.publish(object("a"), event);
    expect([takeSent(), reports.get("a").size]).toEqual([[], 1]);
  });

  test("sends everything about a new object with the name of another one", () => {
    const { reporter, reports, takeSent } = setUp();
    reporter.report(object("a", "1"), "plan", events("x"));
    reporter.report(object("a", "1"), "failure", events("y"));
    reporter.report(object("a", "2"), "plan", events("x"));
    expect(takeSent()).toEqual(["a: x", "a: y", "a: x"]);
    expect([...reports.get("a").keys()]).toEqual(["plan"]);
  });

  test("remembers nothing about an object to which nothing applies", () => {
    const { reporter, reports } = setUp();
    for (const name of ["a", "b", "c", "d"]) reporter.report(object(name), "plan", events("x"));
    reporter.report(object("a"), "plan", []);
    reports.forget("b");
    expect([...reports.names]).toEqual(["c", "d"]);
    reports.forgetAllBut(new Set(["d"]));
    expect([...reports.names]).toEqual(["d"]);
  });
});
