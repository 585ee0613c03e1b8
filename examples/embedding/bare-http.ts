import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { register } from 'prom-client'
import { createManager, type Extension } from 'tenure'
import { health } from './health.ts'
import { Sweeper } from './sweeper.ts'

async function answer({ url }: IncomingMessage, response: ServerResponse): Promise<void> {
  if (url === '/metrics') {
    const { contentType, body } = await manager.ops.metrics()
    response.setHeader('content-type', contentType).end(body)
  } else if (url === '/livez' || url === '/readyz') {
    const { status, body } = await health(url === '/livez' ? manager.livez : manager.readyz)
    response.writeHead(status).end(body)
  } else {
    response.end(`${manager.state.kind}\n`)
  }
}
const server = createServer((request, response) => void answer(request, response))

const web: Extension = {
  name: 'web',
  start: async () => {
    server.listen(Number(process.env['PORT'] ?? 8080))
    await once(server, 'listening')
    console.log('listening', server.address())
  },
  stop: async () => {
    server.close().closeIdleConnections()
    await once(server, 'close')
  },
}

const manager = createManager({ ops: { port: false, registries: [register] } }).use(web)
manager.register(() => new Sweeper())
await manager.start()
console.log('stopped')
