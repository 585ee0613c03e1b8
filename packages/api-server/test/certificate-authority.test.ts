import { createPrivateKey, X509Certificate } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { CertificateAuthority } from '../src/certificate-authority.ts'

const authority = CertificateAuthority.create('test-ca')
const root = new X509Certificate(authority.root.cert)

describe('a certificate authority', () => {
  it('vouches for itself', () => {
    expect(root.ca).toBe(true)
    expect(root.subject).toBe('CN=test-ca')
    expect(root.verify(root.publicKey)).toBe(true)
  })

  it('issues client certificates that name the user and every group', () => {
    const { cert, key } = authority.issueClientCertificate({ commonName: 'alice', organizations: ['a', 'b'] })
    const certificate = new X509Certificate(cert)
    expect(certificate.subject).toBe('O=a\nO=b\nCN=alice')
    expect(certificate.checkIssued(root)).toBe(true)
    expect(certificate.verify(root.publicKey)).toBe(true)
    expect(certificate.checkPrivateKey(createPrivateKey(key))).toBe(true)
    expect(certificate.ca).toBe(false)
  })

  it('issues server certificates for names and addresses', () => {
    const certificate = new X509Certificate(authority.issueServerCertificate(['localhost', '127.0.0.1']).cert)
    expect(certificate.checkHost('localhost')).toBe('localhost')
    expect(certificate.checkIP('127.0.0.1')).toBe('127.0.0.1')
    expect(certificate.checkHost('example.com')).toBeUndefined()
  })

  it('issues certificates of another serial number each, which are valid now', () => {
    const certificates = [1, 2].map(
      () => new X509Certificate(authority.issueClientCertificate({ commonName: 'a' }).cert),
    )
    expect(new Set(certificates.map(({ serialNumber }) => serialNumber)).size).toBe(2)
    for (const { validFrom, validTo } of certificates) {
      expect(Date.parse(validFrom)).toBeLessThan(Date.now())
      expect(Date.parse(validTo)).toBeGreaterThan(Date.now())
    }
  })

  it('can be taken up again from its root', () => {
    const again = CertificateAuthority.from(authority.root, 'test-ca')
    const certificate = new X509Certificate(again.issueClientCertificate({ commonName: 'bob' }).cert)
    expect(certificate.verify(root.publicKey)).toBe(true)
  })
})
