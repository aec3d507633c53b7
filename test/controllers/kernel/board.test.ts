import { describe, expect, test } from "bun:test";
import { Board, Reporter } from "../../../src/controllers/kernel/board.ts";
import { messageIn, type Problem } from "../../../src/core/problem.ts";

const problems = (...texts: readonly string[]): readonly Problem[] =>
  texts.map((text) => ({ severity: "error", reason: "Wrong", text }));

const object = (name: string, uid = name) => ({ metadata: { name, uid } });

function setUp() {
  const sent: string[] = [];
  const board = new Board<"plan" | "failure">();
  const reporter = new Reporter<ReturnType<typeof object>, "plan" | "failure">(
    ({ metadata }, problem) => void sent.push(`${metadata.name}: ${messageIn(problem)}`),
    board,
  );
  return { sent, board, reporter, takeSent: () => sent.splice(0) };
}

describe("the event board", () => {
  test("the event board sends new and returning events, but does not repeat lasting events", () => {
    const { reporter, takeSent } = setUp();
    reporter.report(object("a"), "plan", problems("x", "y", "x"));
    expect(takeSent()).toEqual(["a: x", "a: y"]);
    reporter.report(object("a"), "plan", problems("y", "z"));
    expect(takeSent()).toEqual(["a: z"]);
    reporter.report(object("b"), "plan", problems("y"));
    expect(takeSent()).toEqual(["b: y"]);
    reporter.report(object("a"), "plan", problems("x", "z"));
    expect(takeSent()).toEqual(["a: x"]);
  });

  test("the event board sends an event even if another topic has sent it, because topics end at different times", () => {
    const { reporter, takeSent } = setUp();
    reporter.report(object("a"), "plan", problems("x"));
    reporter.report(object("a"), "failure", problems("x"));
    reporter.report(object("a"), "failure", []);
    reporter.report(object("a"), "plan", problems("x"));
    expect(takeSent()).toEqual(["a: x", "a: x"]);
  });

  test("the event board sends a problem once while it lasts, keeps its last text, and distinguishes reasons", () => {
    const { reporter, board, takeSent } = setUp();
    for (const [reason, text] of [
      ["Wait", "5s"],
      ["Wait", "4s"],
      ["Hold", "4s"],
    ] as const) {
      reporter.report(object("a"), "plan", [{ severity: "error", reason, text, identity: "" }]);
    }
    expect(takeSent()).toEqual(["a: 5s", "a: 4s"]);
    expect(board.at("a")).toEqual([{ severity: "error", reason: "Hold", text: "4s", identity: "" }]);
  });

  test("the event board lists the most blocking problem of an object first in its topic", () => {
    const { reporter, board, takeSent } = setUp();
    const severities = ["notice", "hint", "warning", "wait", "error", "hold"] as const;
    reporter.report(
      object("a"),
      "plan",
      severities.map((severity) => ({ severity, reason: "R", text: severity, remedy: "Do it." })),
    );
    expect(board.at("a").map(({ severity }) => severity)).toEqual(severities.toReversed());
    expect(takeSent()[0]).toBe("a: hold Do it.");
  });

  test("the event board keeps a problem without a reason, but does not send it", () => {
    const { reporter, board, takeSent } = setUp();
    const problem: Problem = { severity: "warning", reason: "", text: "x" };
    reporter.report(object("a"), "plan", [problem]);
    reporter.publish(object("a"), problem);
    expect([takeSent(), board.at("a")]).toEqual([[], [problem]]);
  });

  test("the event board sends all findings of a new object that reuses a name", () => {
    const { reporter, board, takeSent } = setUp();
    reporter.report(object("a", "1"), "plan", problems("x"));
    reporter.report(object("a", "1"), "failure", problems("y"));
    reporter.report(object("a", "2"), "plan", problems("x"));
    expect(takeSent()).toEqual(["a: x", "a: y", "a: x"]);
    expect(board.at("a")).toEqual(problems("x"));
  });

  test("the event board forgets an object without findings", () => {
    const { reporter, board } = setUp();
    for (const name of ["a", "b", "c", "d"]) reporter.report(object(name), "plan", problems("x"));
    reporter.report(object("a"), "plan", []);
    board.forget("b");
    expect([...board.names]).toEqual(["c", "d"]);
    board.forgetAllBut(new Set(["d"]));
    expect([...board.names]).toEqual(["d"]);
  });
});
