/**
 * A certificate authority for one embedded API server. Node can create keys and signatures, but not X.509 certificates.
 * The certificates are for development on loopback. Only the kubeconfigs of the server trust them.
 */
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { isIPv4 } from 'node:net'
import * as der from './der.ts'

/** A certificate and its private key, both PEM. */
export interface KeyPair {
  readonly cert: string
  readonly key: string
}

/** The identity in a certificate. */
export interface CertificateSubject {
  /** The user name in Kubernetes. */
  readonly commonName: string
  /** The groups in Kubernetes. */
  readonly organizations?: readonly string[]
}

const OID = {
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  commonName: '2.5.4.3',
  organization: '2.5.4.10',
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAlternativeName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyIdentifier: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
  clientAuth: '1.3.6.1.5.5.7.3.2',
} as const

const DAY_MS = 24 * 60 * 60 * 1000
const VALID_DAYS = 3650
/** Certificates are valid from a little in the past, for clients whose clocks are slow. */
const BACKDATE_MS = 60 * 60 * 1000

interface CertificateRequest {
  readonly subject: CertificateSubject
  readonly publicKey: KeyObject
  readonly issuer: CertificateSubject
  readonly issuerKey: KeyObject
  readonly extensions: readonly Buffer[]
}

/** Issues certificates under its own root certificate. */
export class CertificateAuthority {
  /** The root certificate and its key. A client that has the key can authenticate as any user. */
  readonly root: KeyPair
  readonly #privateKey: KeyObject
  readonly #subject: CertificateSubject

  private constructor(root: KeyPair, commonName: string) {
    this.root = root
    this.#privateKey = createPrivateKey(root.key)
    this.#subject = { commonName }
  }

  /** Makes a new authority with a new key. */
  static create(commonName: string): CertificateAuthority {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
    const extensions = [
      extension(OID.basicConstraints, der.sequence(der.booleanTrue()), true),
      // keyCertSign and cRLSign.
      extension(OID.keyUsage, der.bitString(Buffer.from([0x06]), 1), true),
    ]
    const subject = { commonName }
    const cert = issue({ subject, publicKey, issuer: subject, issuerKey: privateKey, extensions })
    return new CertificateAuthority({ cert, key: pemOf(privateKey) }, commonName)
  }

  /** Restores an authority that {@link create} made under the same name. */
  static from(root: KeyPair, commonName: string): CertificateAuthority {
    return new CertificateAuthority(root, commonName)
  }

  /** Issues a certificate for a server with these host names and IPv4 addresses. */
  issueServerCertificate(hosts: readonly string[]): KeyPair {
    const names = hosts.map((host) =>
      isIPv4(host) ? der.implicit(7, Buffer.from(host.split('.').map(Number))) : der.implicit(2, Buffer.from(host)),
    )
    return this.#issue({ commonName: 'kube-apiserver' }, [
      extension(OID.extendedKeyUsage, der.sequence(der.objectIdentifier(OID.serverAuth))),
      extension(OID.subjectAlternativeName, der.sequence(...names)),
    ])
  }

  /** Issues a certificate that authenticates a client as `subject`. */
  issueClientCertificate(subject: CertificateSubject): KeyPair {
    return this.#issue(subject, [extension(OID.extendedKeyUsage, der.sequence(der.objectIdentifier(OID.clientAuth)))])
  }

  #issue(subject: CertificateSubject, purpose: readonly Buffer[]): KeyPair {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
    const extensions = [
      extension(OID.basicConstraints, der.sequence(), true),
      // digitalSignature.
      extension(OID.keyUsage, der.bitString(Buffer.from([0x80]), 7), true),
      ...purpose,
    ]
    const request = { subject, publicKey, issuer: this.#subject, issuerKey: this.#privateKey, extensions }
    return { cert: issue(request), key: pemOf(privateKey) }
  }
}

function issue(request: CertificateRequest): string {
  const algorithm = der.sequence(der.objectIdentifier(OID.ecdsaWithSha256))
  const now = Date.now()
  const toBeSigned = der.sequence(
    der.explicit(0, der.unsignedInteger(Buffer.from([2]))),
    der.unsignedInteger(serialNumber()),
    algorithm,
    distinguishedName(request.issuer),
    der.sequence(der.time(new Date(now - BACKDATE_MS)), der.time(new Date(now + VALID_DAYS * DAY_MS))),
    distinguishedName(request.subject),
    spki(request.publicKey),
    der.explicit(3, der.sequence(...request.extensions, ...keyIdentifiers(request))),
  )
  const signature = sign('sha256', toBeSigned, request.issuerKey)
  const certificate = der.sequence(toBeSigned, algorithm, der.bitString(signature))
  const lines = certificate.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}

/** 16 random bytes. The first is between 0x40 and 0x7f, so the number is positive and has no leading zero byte. */
function serialNumber(): Buffer {
  const bytes = randomBytes(16)
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40
  return bytes
}

function distinguishedName(subject: CertificateSubject): Buffer {
  const attribute = (oid: string, text: string): Buffer =>
    der.set(der.sequence(der.objectIdentifier(oid), der.utf8String(text)))
  const organizations = (subject.organizations ?? []).map((group) => attribute(OID.organization, group))
  return der.sequence(...organizations, attribute(OID.commonName, subject.commonName))
}

function keyIdentifiers(request: CertificateRequest): Buffer[] {
  const own = der.octetString(keyIdentifier(request.publicKey))
  const issuers = der.sequence(der.implicit(0, keyIdentifier(createPublicKey(request.issuerKey))))
  return [extension(OID.subjectKeyIdentifier, own), extension(OID.authorityKeyIdentifier, issuers)]
}

function keyIdentifier(publicKey: KeyObject): Buffer {
  return createHash('sha1').update(spki(publicKey)).digest()
}

function extension(oid: string, value: Buffer, critical = false): Buffer {
  return der.sequence(der.objectIdentifier(oid), ...(critical ? [der.booleanTrue()] : []), der.octetString(value))
}

function spki(key: KeyObject): Buffer {
  return key.export({ type: 'spki', format: 'der' })
}

function pemOf(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString()
}
