// Certificates that the authority issues, read and verified with node:crypto.

import { describe, expect, test } from "bun:test";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import fc from "fast-check";
import { seconds } from "../../src/core/brand.ts";
import { createAuthority } from "../../src/pki/authority.ts";
import { addressBytes } from "../../src/pki/certificate.ts";
import { seededRandom } from "../../src/platform/random.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";

const clock = new VirtualClock();
const authority = createAuthority("an authority", clock, seededRandom(1));
const ca = new X509Certificate(authority.cert);

describe("the certificate authority", () => {
  test("the certificate authority signs its own certificate", () => {
    expect(ca.ca).toBe(true);
    expect(ca.verify(ca.publicKey)).toBe(true);
    expect(ca.checkIssued(ca)).toBe(true);
    expect(ca.subject).toBe("CN=an authority");
  });

  test("the certificate authority issues a server certificate for names, and for addresses of both IP families", () => {
    const { cert, key } = authority.issueServer("server", ["localhost", "127.0.0.1", "::1", "fd00::a:1"]);
    const server = new X509Certificate(cert);
    expect(server.checkIssued(ca)).toBe(true);
    expect(server.verify(ca.publicKey)).toBe(true);
    expect(server.checkPrivateKey(createPrivateKey(key))).toBe(true);
    expect(server.checkHost("localhost")).toBe("localhost");
    for (const address of ["127.0.0.1", "::1", "fd00::a:1"]) expect(server.checkIP(address)).toBe(address);
    expect(server.checkHost("example.com")).toBeUndefined();
    expect(server.ca).toBe(false);
  });

  test("the certificate authority issues a client certificate with its user, its groups and the requested lifetime", () => {
    const { cert } = authority.issueClient({ commonName: "jane", organizations: ["a", "b"] }, seconds(60));
    const client = new X509Certificate(cert);
    expect(client.subject).toBe("O=a\nO=b\nCN=jane");
    expect(client.verify(ca.publicKey)).toBe(true);
    expect(Date.parse(client.validTo)).toBe(clock.now() + 60_000);
    expect(client.serialNumber).not.toBe(ca.serialNumber);
  });

  test("verification rejects a certificate of another authority with the same name", () => {
    const other = createAuthority("an authority", clock, seededRandom(2));
    const { cert } = other.issueClient({ commonName: "jane" });
    expect(new X509Certificate(cert).verify(ca.publicKey)).toBe(false);
  });
});

describe("addressBytes", () => {
  test("the bytes of an address are four for IPv4 and sixteen for IPv6", () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (address) => {
        if (isIP(address) === 0) return;
        expect(addressBytes(address).length).toBe(isIP(address) === 4 ? 4 : 16);
      }),
    );
    expect([...addressBytes("2001:db8::1")]).toEqual([
      0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
    ]);
    expect(() => addressBytes("nonsense")).toThrow("Expected an IP address");
  });
});
