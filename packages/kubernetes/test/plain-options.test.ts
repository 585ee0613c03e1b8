import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Cluster, User } from '@kubernetes/client-node'
import { expect, test } from 'vitest'
import { plainOptions } from '../src/client/plain-options.ts'

const options = (cluster: Partial<Cluster> = {}, user: Partial<User> = {}) =>
  plainOptions({ name: 'c', server: 'https://one:6443', skipTLSVerify: false, ...cluster }, { name: 'u', ...user })

const base64 = (text: string) => Buffer.from(text).toString('base64')

test('a user with a token, a password or a certificate needs no client-node', () => {
  expect(options()).toEqual({ headers: {} })
  expect(options({}, { token: 't' })).toEqual({ headers: { Authorization: 'Bearer t' } })
  expect(options({}, { token: '' })).toEqual({ headers: {} })
  expect(options({}, { username: 'me', password: 'p' })).toEqual({ headers: {}, auth: 'me:p' })
  const material = { certData: base64('cert'), keyData: base64('key') }
  expect(options({ caData: base64('ca') }, material)).toEqual({
    headers: {},
    ca: Buffer.from('ca'),
    cert: Buffer.from('cert'),
    key: Buffer.from('key'),
  })
  expect(options({ skipTLSVerify: true, tlsServerName: 'two' })).toEqual({
    headers: {},
    rejectUnauthorized: false,
    servername: 'two',
  })
})

test('files come before data', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tenure-plain-'))
  try {
    const [caFile, certFile, keyFile] = ['ca', 'cert', 'key'].map((name) => {
      writeFileSync(join(folder, name), `${name} in a file`)
      return join(folder, name)
    })
    const data = { certData: base64('cert'), keyData: base64('key') }
    const files = { certFile: certFile ?? '', keyFile: keyFile ?? '' }
    expect(options({ caFile: caFile ?? '', caData: base64('ca') }, { ...data, ...files })).toEqual({
      headers: {},
      ca: Buffer.from('ca in a file'),
      cert: Buffer.from('cert in a file'),
      key: Buffer.from('key in a file'),
    })
    expect(() => options({ caFile: join(folder, 'none') })).toThrow('ENOENT')
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test.each([
  ['a plugin', {}, { exec: { command: 'x' } }],
  ['an authenticator', {}, { authProvider: { name: 'x' } }],
  ['another user', {}, { impersonateUser: 'x' }],
  ['a proxy', { proxyUrl: 'http://p' }, {}],
  ['plain HTTP', { server: 'http://one' }, {}],
])('%s needs client-node', (_, cluster, user) => {
  expect(options(cluster, user)).toBeUndefined()
})

test('what a kubeconfig leaves empty needs no client-node, nor does plain HTTP without verification', () => {
  expect(options({ proxyUrl: '' }, { exec: null, authProvider: null })).toEqual({ headers: {} })
  expect(options({ server: 'http://one', skipTLSVerify: true })).toEqual({ headers: {}, rejectUnauthorized: false })
})
