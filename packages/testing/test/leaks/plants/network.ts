import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import tls from 'node:tls'
import { Agent, EnvHttpProxyAgent, fetch as undiciFetch, request } from 'undici'
import { CertificateAuthority } from '../../../../api-server/src/certificate-authority.ts'
import { close, destroy, listen, portOf } from './loopback.ts'
import { kept, letGo, type Plant } from './plant.ts'

const HOST = '127.0.0.1'
const authority = CertificateAuthority.create('leaks')
const secure = authority.issueServerCertificate([HOST])

/** Servers that are there before anybody watches, for clients to leak connections to. */
const web = http.createServer((request, response) => {
  if (request.url === '/endless') response.write('o')
  else response.end('ok')
})
const echo = net.createServer((socket) => socket.on('error', () => {}))
const secureEcho = tls.createServer(secure, (socket) => socket.on('error', () => {}))
const unixPath = join(tmpdir(), `leaks-${process.pid}.sock`)
const unixEcho = net.createServer()
let unixServers = 0

function prepared(server: net.Server): () => Promise<() => unknown> {
  return async () => {
    if (!server.listening) await listen(server)
    server.unref() // Not what other detectors are to find.
    return () => {
      if (server instanceof http.Server) server.closeAllConnections()
      return close(server)
    }
  }
}

async function prepareUnix(): Promise<() => unknown> {
  unixEcho.listen(unixPath)
  await once(unixEcho, 'listening')
  unixEcho.unref()
  return () => close(unixEcho)
}

/** Exists before every watch, so it counts as shared. */
const olderAgent = new http.Agent({ keepAlive: true })

const url = () => `http://${HOST}:${portOf(web)}/`

async function getWith(agent: http.Agent): Promise<void> {
  const call = http.get(url(), { agent })
  const [response] = (await once(call, 'response')) as [http.IncomingMessage]
  response.resume()
  await once(response, 'close')
}

async function connectTls(): Promise<tls.TLSSocket> {
  const socket = tls.connect({ port: portOf(secureEcho), host: HOST, ca: authority.root.cert })
  await once(socket, 'secureConnect')
  return socket
}

async function connect(to: net.NetConnectOpts): Promise<net.Socket> {
  const socket = net.connect(to)
  await once(socket, 'connect')
  return socket
}

const leakServer = (create: () => net.Server) => async () => {
  const server = await listen(create())
  return () => close(server)
}

const closeServer = (create: () => net.Server) => async () => close(await listen(create()))

/** A server that takes no more connections, and keeps the one that it has. */
async function acceptOnce(): Promise<net.Socket> {
  const server = await listen(net.createServer((socket) => socket.on('error', () => {})))
  const accepted = once(server, 'connection')
  const socket = await connect({ host: HOST, port: portOf(server) })
  await accepted
  server.close()
  return socket
}

export const networkPlants: readonly Plant[] = [
  {
    name: 'connection of a server that was closed',
    kind: 'accepted-socket',
    leak: async () => {
      const socket = await acceptOnce()
      return () => destroy(socket)
    },
    clean: async () => destroy(await acceptOnce()),
  },
  {
    name: 'HTTP server',
    kind: 'http-server',
    leak: leakServer(() => http.createServer()),
    clean: closeServer(() => http.createServer()),
  },
  {
    name: 'TCP server',
    kind: 'tcp-server',
    leak: leakServer(() => net.createServer()),
    clean: closeServer(() => net.createServer()),
  },
  {
    name: "unref'd TCP server",
    kind: 'tcp-server',
    leak: leakServer(() => net.createServer().unref()),
    clean: closeServer(() => net.createServer().unref()),
  },
  {
    name: 'TLS server',
    kind: 'tls-server',
    leak: leakServer(() => tls.createServer(secure)),
    clean: closeServer(() => tls.createServer(secure)),
  },
  {
    name: 'server on a unix socket',
    kind: 'unix-server',
    leak: async () => {
      const server = net.createServer().listen(`${unixPath}.${unixServers++}`)
      await once(server, 'listening')
      return () => close(server)
    },
    clean: async () => {
      const server = net.createServer().listen(`${unixPath}.${unixServers++}`)
      await once(server, 'listening')
      await close(server)
    },
  },
  {
    name: 'UDP socket',
    kind: 'datagram-socket',
    leak: async () => {
      const socket = createSocket('udp4').bind(0, HOST)
      await once(socket, 'listening')
      return () => socket.close()
    },
    clean: async () => {
      const socket = createSocket('udp4').bind(0, HOST)
      await once(socket, 'listening')
      socket.close()
    },
  },
  {
    name: 'TCP connection',
    kind: 'tcp-socket',
    prepare: prepared(echo),
    leak: async () => {
      const socket = await connect({ port: portOf(echo), host: HOST })
      return () => destroy(socket)
    },
    clean: async () => destroy(await connect({ port: portOf(echo), host: HOST })),
  },
  {
    name: 'TLS connection',
    kind: 'tls-socket',
    prepare: prepared(secureEcho),
    leak: async () => {
      const socket = await connectTls()
      return () => destroy(socket)
    },
    clean: async () => destroy(await connectTls()),
  },
  {
    name: 'connection to a unix socket',
    kind: 'unix-socket',
    prepare: prepareUnix,
    leak: async () => {
      const socket = await connect({ path: unixPath })
      return () => destroy(socket)
    },
    clean: async () => destroy(await connect({ path: unixPath })),
  },
  {
    name: 'keep-alive pool of http.Agent',
    kind: 'keep-alive-socket',
    prepare: prepared(web),
    leak: async () => {
      const agent = new http.Agent({ keepAlive: true })
      await getWith(agent)
      return () => agent.destroy()
    },
    clean: async () => {
      const agent = new http.Agent({ keepAlive: true })
      await getWith(agent)
      agent.destroy()
      await getWith(http.globalAgent)
      await getWith(olderAgent)
    },
  },
  {
    name: 'body of fetch that nobody reads',
    kind: 'keep-alive-socket',
    prepare: prepared(web),
    leak: async () => {
      const response = await fetch(`${url()}endless`)
      kept.push(response)
      return async () => {
        letGo()
        await response.body?.cancel()
      }
    },
    clean: async () => (await fetch(url())).text(),
  },
  {
    name: 'pool of undici for fetch',
    kind: 'keep-alive-socket',
    prepare: prepared(web),
    leak: async () => {
      const dispatcher = new Agent()
      await (await undiciFetch(url(), { dispatcher })).text()
      return () => dispatcher.destroy()
    },
    clean: async () => (await undiciFetch(url())).text(),
  },
  {
    name: 'pool of a proxy agent',
    kind: 'keep-alive-socket',
    prepare: prepared(web),
    leak: async () => {
      const dispatcher = new EnvHttpProxyAgent()
      await (await request(url(), { dispatcher })).body.text()
      return () => dispatcher.destroy()
    },
    clean: async () => (await request(url())).body.text(),
  },
  {
    name: 'keep-alive pool of undici',
    kind: 'keep-alive-socket',
    prepare: prepared(web),
    leak: async () => {
      const dispatcher = new Agent()
      await (await request(url(), { dispatcher })).body.text()
      return () => dispatcher.destroy()
    },
    clean: async () => {
      const dispatcher = new Agent()
      await (await request(url(), { dispatcher })).body.text()
      await dispatcher.destroy()
    },
  },
]
