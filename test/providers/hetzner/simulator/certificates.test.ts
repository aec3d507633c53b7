// Certificates of the simulated Hetzner Cloud.

import { expect, test } from "bun:test";
import { seconds } from "../../../../src/core/brand.ts";
import { createAuthority } from "../../../../src/pki/authority.ts";
import { systemClock } from "../../../../src/platform/clock.ts";
import { systemRandom } from "../../../../src/platform/random.ts";
import { setUp } from "./ask.ts";

const managed = { name: "cert", type: "managed", domain_names: ["example.com"] };

test("the simulator issues a managed certificate when its action ends", async () => {
  const { ask, clock } = setUp();
  const { body } = await ask("/certificates", "POST", managed);
  expect(body.certificate).toMatchObject({
    certificate: null,
    fingerprint: null,
    not_valid_after: null,
    status: { issuance: "pending", renewal: "unavailable", error: null },
  });
  await clock.advance(seconds(1));
  const { certificate } = (await ask(`/certificates/${body.certificate.id}`)).body;
  expect(certificate.status).toEqual({ issuance: "completed", renewal: "scheduled", error: null });
  expect(certificate.fingerprint).toContain(":");
  const again = await ask("/certificates", "POST", managed);
  expect([again.status, again.code]).toEqual([409, "uniqueness_error"]);
});

test("the simulator reports a managed certificate that cannot be issued", async () => {
  const { ask, clock, project } = setUp();
  const error = { code: "dns_zone_not_found", message: "no zone" };
  project.actions.plan({ outcome: "fails", command: "create_certificate", error });
  const { id } = (await ask("/certificates", "POST", managed)).body.certificate;
  await clock.advance(seconds(1));
  const status = async () => (await ask(`/certificates/${id}`)).body.certificate.status;
  expect(await status()).toEqual({ issuance: "failed", renewal: "unavailable", error });
});

test("the simulator rejects a certificate for a service until the certificate is issued", async () => {
  const { ask, clock, project } = setUp();
  const { id } = project.balancers.add("lb");
  const certificate = (await ask("/certificates", "POST", managed)).body.certificate.id;
  const add = () =>
    ask(`/load_balancers/${id}/actions/add_service`, "POST", {
      protocol: "https",
      http: { certificates: [certificate] },
    });
  expect((await add()).code).toBe("invalid_input");
  await clock.advance(seconds(1));
  expect((await add()).status).toBe(201);
  await clock.advance(seconds(1));
  const used = await ask(`/certificates/${certificate}`, "DELETE");
  expect([used.status, used.code]).toEqual([409, "resource_in_use"]);
  project.balancers.remove(id);
  expect((await ask(`/certificates/${certificate}`, "DELETE")).status).toBe(204);
});

test("the simulator reads the domains and dates of an uploaded certificate", async () => {
  const { ask } = setUp();
  const authority = createAuthority("test", systemClock, systemRandom);
  const { cert, key } = authority.issueServer("example.com", ["example.com", "www.example.com"]);
  const { body } = await ask("/certificates", "POST", { name: "up", certificate: cert, private_key: key });
  expect(body.action).toBeNull();
  expect(body.certificate).toMatchObject({
    type: "uploaded",
    status: null,
    domain_names: ["example.com", "www.example.com"],
    certificate: cert,
    used_by: [],
  });
  const invalid = await ask("/certificates", "POST", { name: "x", certificate: "none", private_key: key });
  expect(invalid.body.error.details.fields[0].name).toBe("certificate");
});
