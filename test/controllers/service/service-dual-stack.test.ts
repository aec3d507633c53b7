import { expect, test } from "bun:test";
import { scriptedWorld } from "../../support/scripted-world.ts";

test("a dual-stack Service gets an address of each family in its order, even when it becomes dual-stack later [F45]", async () => {
  const { w, script } = scriptedWorld();
  script.hasAddresses = true;
  await w.start();
  w.create("both", { spec: { ipFamilyPolicy: "RequireDualStack", ipFamilies: ["IPv6", "IPv4"] } });
  w.create("later", { spec: { ipFamilyPolicy: "SingleStack", ipFamilies: ["IPv4"] } });
  await w.pass(30);
  expect(w.addressesOf("both")).toEqual(["2001:db8::7", "192.0.2.7"]);
  expect(w.addressesOf("later")).toEqual(["192.0.2.7"]);
  w.editSpec("later", { ipFamilyPolicy: "PreferDualStack", ipFamilies: ["IPv4", "IPv6"] });
  await w.pass(30);
  expect(w.addressesOf("later")).toEqual(["192.0.2.7", "2001:db8::7"]);
});
