import { expect, test } from 'vitest'
import { proxyFromEnvironment } from '../src/client/kubeconfig/proxy.ts'

const PROXY = 'http://proxy.test:3128'

function isProxied(server: string, noProxy: string): boolean {
  return proxyFromEnvironment(server, { HTTPS_PROXY: PROXY, NO_PROXY: noProxy }) === PROXY
}

test('the proxy is that of the scheme of the server, in capitals or not, and of no other', () => {
  expect(proxyFromEnvironment('https://api.test', { HTTPS_PROXY: PROXY })).toBe(PROXY)
  expect(proxyFromEnvironment('https://api.test', { https_proxy: 'proxy.test:3128' })).toBe(PROXY)
  expect(proxyFromEnvironment('http://api.test', { HTTP_PROXY: PROXY })).toBe(PROXY)
  expect(proxyFromEnvironment('http://api.test', { http_proxy: PROXY, HTTPS_PROXY: 'other.test' })).toBe(PROXY)
  expect(proxyFromEnvironment('https://api.test', { HTTPS_PROXY: '', https_proxy: PROXY })).toBe(PROXY)
  expect(proxyFromEnvironment('https://api.test', { HTTP_PROXY: PROXY })).toBeUndefined()
  expect(proxyFromEnvironment('https://api.test', { HTTPS_PROXY: '' })).toBeUndefined()
  expect(proxyFromEnvironment('no url', { HTTPS_PROXY: PROXY })).toBeUndefined()
})

test('a variable in capitals takes precedence', () => {
  const env = { HTTPS_PROXY: PROXY, https_proxy: 'http://other.test', no_proxy: 'api.test' }
  expect(proxyFromEnvironment('https://api.test', env)).toBeUndefined()
  expect(proxyFromEnvironment('https://other.test', env)).toBe(PROXY)
  expect(proxyFromEnvironment('https://api.test', { ...env, NO_PROXY: 'other.test' })).toBe(PROXY)
})

test('a server without a port has that of its scheme', () => {
  const excluded = (server: string, noProxy: string) =>
    proxyFromEnvironment(server, { HTTP_PROXY: PROXY, HTTPS_PROXY: PROXY, NO_PROXY: noProxy }) === undefined
  expect(excluded('http://api.test', 'api.test:80')).toBe(true)
  expect(excluded('http://api.test', 'api.test:443')).toBe(false)
  expect(excluded('https://api.test', 'api.test:80')).toBe(false)
})

test.each(['https://localhost:6443', 'https://127.0.0.1:6443', 'https://127.9.9.9', 'https://[::1]:6443'])(
  'a server on this machine is reached without a proxy: %s',
  (server) => {
    expect(isProxied(server, '')).toBe(false)
  },
)

test.each([
  ['https://api.test', '*'],
  ['https://api.test', 'api.test'],
  ['https://api.test', 'other.test, API.test'],
  ['https://sub.api.test', 'api.test'],
  ['https://sub.api.test', '.api.test'],
  ['https://sub.api.test', '*.api.test'],
  ['https://api.test', 'api.test:443'],
  ['https://api.test:6443', 'api.test:6443'],
  ['https://10.96.0.1', '10.96.0.1'],
  ['https://10.96.0.1', '10.0.0.0/8'],
  ['https://[fd00::1]:6443', 'fd00::/8'],
  ['https://10.96.0.1', '10.96.0.0/16'],
  ['https://10.96.0.1', '10.96.0.1/32'],
  ['https://[fd00::1]:6443', 'fd00::1/128'],
  ['https://[fd00::1]:6443', 'fd00::1'],
  ['https://[fd00::1]:6443', '[fd00::1]'],
  ['https://[fd00::1]:6443', '[fd00::1]:6443'],
])('%s is reached without a proxy where NO_PROXY is %s', (server, noProxy) => {
  expect(isProxied(server, noProxy)).toBe(false)
})

test.each([
  ['https://api.test', 'test.api'],
  ['https://notapi.test', 'api.test'],
  ['https://api.test', '.api.test'],
  ['https://api.test:6443', 'api.test:443'],
  ['https://10.96.0.1', '192.168.0.0/16'],
  ['https://10.96.0.1', '10.0.0.0/99'],
  ['https://10.96.0.1', 'fd00::/8'],
  ['https://10.96.0.1', '/8'],
  ['https://10.96.0.1', '10.96.0.1/33'],
  ['https://10.96.0.1', '10.0.0.0/x8'],
  ['https://10.96.0.1', '10.0.0.0/8x'],
  ['https://10.96.0.1', '10.0.0.0/'],
  ['https://10.96.0.1', '10.96.0.2'],
  ['https://[fd00::1]:6443', 'fd00::/129'],
  ['https://[fd00::1]:6443', '[fd00::1]:443'],
  ['https://api.test', 'api.test/8'],
  ['https://api.test', 'api.test:443x'],
  ['https://x.api.test', 'x*.api.test'],
  ['https://api.test', '*.api.test'],
  ['https://api.test.', 'other.test,'],
])('%s is reached by the proxy where NO_PROXY is %s', (server, noProxy) => {
  expect(isProxied(server, noProxy)).toBe(true)
})
