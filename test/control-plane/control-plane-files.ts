import { generateKeyPairSync } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { CertificateAuthority } from '../../packages/api-server/src/certificate-authority.ts'
import { type AuditLevel, auditPolicy } from './audit-log.ts'

/** What goes into the files that kube-apiserver reads when it starts. */
export interface ControlPlaneFiles {
  readonly folder: string
  readonly authority: CertificateAuthority
  readonly auditLevel: AuditLevel
}

/** Writes the certificates, the keys and the audit policy of kube-apiserver into `folder`. */
export async function writeControlPlaneFiles({ folder, authority, auditLevel }: ControlPlaneFiles): Promise<void> {
  const server = authority.issueServerCertificate([
    '127.0.0.1',
    '127.0.0.2',
    '127.0.0.3',
    'localhost',
    'kubernetes.default.svc',
  ])
  const serviceAccount = generateKeyPairSync('ec', {
    namedCurve: 'prime256v1',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  const contents = {
    'ca.crt': authority.root.cert,
    'api-server.crt': server.cert,
    'api-server.key': server.key,
    'service-account.pub': serviceAccount.publicKey,
    'service-account.key': serviceAccount.privateKey,
    'audit-policy.json': JSON.stringify(auditPolicy(auditLevel)),
    'audit.log': '',
  }
  const written = Object.entries(contents).map(([name, content]) =>
    writeFile(join(folder, name), content, { mode: 0o600 }),
  )
  await Promise.all(written)
}
