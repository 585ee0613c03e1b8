import { BlockList, isIP } from 'node:net'

/**
 * The proxy for a server according to the environment, as kubectl and other Go programs read it: `HTTPS_PROXY` or `HTTP_PROXY` by the
 * scheme of the server. Undefined for a server on this machine or in `NO_PROXY`. Names in lower case count too.
 */
export function proxyFromEnvironment(server: string, env: NodeJS.ProcessEnv): string | undefined {
  const url = URL.parse(server)
  if (url === null) return undefined
  const names = url.protocol === 'http:' ? ['HTTP_PROXY', 'http_proxy'] : ['HTTPS_PROXY', 'https_proxy']
  const proxy = firstOf(env, names)
  if (proxy === undefined || isExcluded(url, firstOf(env, ['NO_PROXY', 'no_proxy']))) return undefined
  return proxy.includes('://') ? proxy : `http://${proxy}`
}

function firstOf(env: NodeJS.ProcessEnv, names: readonly string[]): string | undefined {
  return names.map((name) => env[name]).find((value) => value !== undefined && value !== '')
}

const THIS_MACHINE = ['127.0.0.0/8', '::1/128']

function isExcluded(server: URL, list: string | undefined): boolean {
  const host = server.hostname.replace(BRACKETS, '')
  const port = server.port === '' ? (server.protocol === 'http:' ? '80' : '443') : server.port
  if (host === 'localhost' || THIS_MACHINE.some((range) => isInSubnet(host, range))) return true
  if (list === undefined) return false
  return list
    .split(',')
    .map((entry) => entry.trim().toLowerCase())
    .some((entry) => entry !== '' && matches(entry, host, port))
}

/** Those around an IPv6 address. */
const BRACKETS = /[[\]]/g

/** Whether an entry of `NO_PROXY` matches: `*`, a range of addresses, or an address or domain, with or without a port. */
function matches(entry: string, host: string, port: string): boolean {
  if (entry === '*') return true
  if (entry.includes('/')) return isInSubnet(host, entry)
  const { name = entry, only = port } = /^(?<name>\[[^\]]*\]|[^:]*):(?<only>\d+)$/.exec(entry)?.groups ?? {}
  return only === port && matchesName(name.replace(BRACKETS, '').replace(/^\*\./, '.'), host)
}

/**
 * A domain matches itself and its subdomains. A domain that begins with a dot matches its subdomains only. An address matches itself only:
 * no host name ends with one.
 */
function matchesName(name: string, host: string): boolean {
  return name === host || host.endsWith(name.startsWith('.') ? name : `.${name}`)
}

/** An address of the other family is in none. */
function isInSubnet(address: string, subnet: string): boolean {
  const slash = subnet.indexOf('/')
  const [network, prefix] = [subnet.slice(0, slash), subnet.slice(slash + 1)]
  const family = isIP(network)
  const bits = Number(prefix)
  if (family === 0 || !/^\d{1,3}$/.test(prefix) || bits > (family === 4 ? 32 : 128)) return false
  const type = family === 4 ? 'ipv4' : 'ipv6'
  const list = new BlockList()
  list.addSubnet(network, bits, type)
  return list.check(address, type)
}
