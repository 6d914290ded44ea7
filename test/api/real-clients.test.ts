// Clients that nobody here wrote, over mutual TLS: each sends a request without a body in its own way.
import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { run } from '../support/command-line.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { startTestApi, type TestApi } from '../support/test-api.ts';

/** Debian's own Python, which has Debian's `python3-requests`. */
const PYTHON = '/usr/bin/python3';
const JAVA = '/usr/bin/java';
const HAS_REQUESTS = existsSync('/usr/lib/python3/dist-packages/requests');
const NO_REQUESTS = HAS_REQUESTS ? '' : ' (skipped: Debian: apt-get install python3-requests)';
const NO_JAVA = existsSync(JAVA) ? '' : ' (skipped: Debian: apt-get install default-jdk-headless)';

let api: TestApi;
let folder: string;
let url: string;
beforeAll(async () => {
  api = await startTestApi();
  url = `https://localhost:${api.server.port}/types/zone/`;
});
afterAll(() => api.api.close());
beforeEach(() => {
  folder = temporaryDirectory();
  const { key, cert } = api.identities.administrator;
  for (const [name, text] of Object.entries({ key, cert, ca: api.server.ca })) writeFileSync(join(folder, name), text);
  api.writer.asked.length = 0;
});

const DELETED = ['deleteObject', 'zone', 'z1'];

const PYTHON_PROGRAM = `
import sys, requests
folder, url = sys.argv[1:]
session = requests.Session()
session.cert, session.verify, session.trust_env = (folder + '/cert', folder + '/key'), folder + '/ca', False
print(session.delete(url + 'z1').status_code)
print(session.delete(url + 'z1', data=iter([])).status_code)
print(session.post(url, json={'name': 'z1'}).status_code)
print(session.post(url, json={'name': 'z1'}, headers={'Content-Type': 'application/json; charset=utf8'}).status_code)
`;

test.skipIf(!HAS_REQUESTS)(`requests of Python deletes without a body${NO_REQUESTS}`, async () => {
  const { stdout, stderr } = await run(PYTHON, ['-c', PYTHON_PROGRAM, folder, url]);
  expect({ stdout, stderr }).toEqual({ stdout: '200\n200\n201\n201\n', stderr: '' });
  expect(api.writer.asked.slice(0, 2)).toEqual([DELETED, DELETED]);
});

const JAVA_PROGRAM = `
import java.io.*; import java.net.*; import java.net.http.*; import java.net.http.HttpRequest.BodyPublishers;
import java.security.KeyStore; import java.security.cert.CertificateFactory; import javax.net.ssl.*;

public class Deletes {
  public static void main(String[] args) throws Exception {
    KeyStore keys = KeyStore.getInstance("PKCS12");
    keys.load(new FileInputStream(args[0] + "/client.p12"), "changeit".toCharArray());
    KeyManagerFactory own = KeyManagerFactory.getInstance("SunX509");
    own.init(keys, "changeit".toCharArray());
    KeyStore trusted = KeyStore.getInstance("PKCS12");
    trusted.load(null, null);
    CertificateFactory x509 = CertificateFactory.getInstance("X.509");
    trusted.setCertificateEntry("ca", x509.generateCertificate(new FileInputStream(args[0] + "/ca")));
    TrustManagerFactory trust = TrustManagerFactory.getInstance("PKIX");
    trust.init(trusted);
    SSLContext tls = SSLContext.getInstance("TLS");
    tls.init(own.getKeyManagers(), trust.getTrustManagers(), null);
    URI uri = URI.create(args[1] + "z1");
    HttpClient client = HttpClient.newBuilder().sslContext(tls).build();
    HttpRequest[] requests = {
      HttpRequest.newBuilder(uri).DELETE().build(),
      HttpRequest.newBuilder(uri).method("DELETE", BodyPublishers.noBody()).build(),
      HttpRequest.newBuilder(uri).method("DELETE", BodyPublishers.ofInputStream(InputStream::nullInputStream)).build(),
      HttpRequest.newBuilder(uri).version(HttpClient.Version.HTTP_1_1).DELETE().build(),
    };
    for (HttpRequest request : requests)
      System.out.println(client.send(request, HttpResponse.BodyHandlers.ofString()).statusCode());
    HttpsURLConnection connection = (HttpsURLConnection) uri.toURL().openConnection();
    connection.setSSLSocketFactory(tls.getSocketFactory());
    connection.setRequestMethod("DELETE");
    connection.setDoOutput(true);
    connection.getOutputStream().close();
    System.out.println(connection.getResponseCode());
  }
}
`;

test.skipIf(!existsSync(JAVA))(
  `both clients of Java delete without a body${NO_JAVA}`,
  async () => {
    writeFileSync(join(folder, 'Deletes.java'), JAVA_PROGRAM);
    const store = ['-inkey', join(folder, 'key'), '-in', join(folder, 'cert'), '-out', join(folder, 'client.p12')];
    execFileSync('openssl', ['pkcs12', '-export', ...store, '-passout', 'pass:changeit']);
    const { stdout, stderr } = await run(JAVA, [join(folder, 'Deletes.java'), folder, url]);
    expect({ stdout, stderr }).toEqual({ stdout: '200\n200\n200\n200\n200\n', stderr: '' });
    expect(api.writer.asked).toEqual([DELETED, DELETED, DELETED, DELETED, DELETED]);
  },
  120_000,
);

test.each([
  ['HTTP/1.0', ['-0', '-X', 'DELETE'], '200'],
  [
    'HTTP/1.0 with a body',
    ['-0', '-H', 'Content-Type: application/json', '-d', '{"name":"z1"}', '-o', '/dev/null'],
    '201',
  ],
  ['HTTP/1.1', ['-X', 'DELETE'], '200'],
  ['a length of 0', ['-X', 'DELETE', '-d', '', '-H', 'Content-Type:'], '200'],
  ['no chunk', ['-X', 'DELETE', '-T', '/dev/null', '-H', 'Transfer-Encoding: chunked'], '200'],
])('curl sends a request with %s', async (_what, options, status) => {
  const path = status === '201' ? url : `${url}z1`;
  const identity = ['--cert', join(folder, 'cert'), '--key', join(folder, 'key'), '--cacert', join(folder, 'ca')];
  const quiet = ['-sS', '-o', '/dev/null', '-w', '%{http_code}'];
  const { stdout, stderr } = await run('curl', [...quiet, ...identity, ...options, path]);
  expect({ stdout, stderr }).toEqual({ stdout: status, stderr: '' });
});
