// SOAP for jsonApi: the written requests, and the values read from responses and faults.

import { expect, test } from "bun:test";
import { soapFaultIn, soapFormat, textIn } from "../../src/kit/soap.ts";
import { xml } from "../../src/kit/xml.ts";

const wrapped = (content: string) =>
  `<?xml version="1.0"?><s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body>${content}</s:Body></s:Envelope>`;

test("a SOAP request has its escaped content in the body", () => {
  const text = soapFormat.write(xml`<Login xmlns="urn:vim25"><password>${'a<b&"c'}</password></Login>`);
  expect(text).toContain(
    '<soapenv:Body><Login xmlns="urn:vim25"><password>a&lt;b&amp;&quot;c</password></Login></soapenv:Body>',
  );
  expect(soapFormat.parse(text)).toMatchObject({ Login: { password: 'a<b&"c' } });
  expect(() => soapFormat.write({ password: "x" })).toThrow("is Xml");
});

test("reads a SOAP response without namespace prefixes, with its attributes", () => {
  const body = soapFormat.parse(
    wrapped(
      '<n:LoginResponse xmlns:n="urn:vim25"><returnval type="Folder">group-d1</returnval></n:LoginResponse>',
    ),
  );
  const { LoginResponse } = body as { readonly LoginResponse: { readonly returnval: never } };
  expect(LoginResponse.returnval).toMatchObject({ "@type": "Folder" } as never);
  expect(textIn(LoginResponse.returnval)).toBe("group-d1");
  expect(soapFaultIn(body)).toBeUndefined();
});

test.each([
  [
    "with the type of its detail",
    '<detail><x xsi:type="vim:NotAuthenticated" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"/></detail>',
    "NotAuthenticated",
  ],
  ["with the name of its detail", "<detail><InvalidLoginFault/></detail>", "InvalidLogin"],
  ["without detail", "", undefined],
])("reads a SOAP fault %s", (_, detail, type) => {
  const body = soapFormat.parse(wrapped(`<s:Fault><faultstring>No.</faultstring>${detail}</s:Fault>`));
  expect(soapFaultIn(body)).toMatchObject({ text: "No.", type } as never);
});

test.each(["", "<a/>", wrapped("").replace(/<s:Body>.*<\/s:Body>/, ""), "<html>", "{}"])(
  "%p is not a SOAP envelope",
  (text) => {
    expect(() => soapFormat.parse(text)).toThrow();
  },
);
