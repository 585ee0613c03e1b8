import { once } from 'node:events'
import type { Server } from 'node:http'
import express from 'express'
import { register } from 'prom-client'
import { createManager, type Extension } from 'tenure'
import { health } from './health.ts'
import { Sweeper } from './sweeper.ts'

const app = express()
let server: Server | undefined

const web: Extension = {
  name: 'web',
  start: async () => {
    server = app.listen(Number(process.env['PORT'] ?? 8080))
    await once(server, 'listening')
    console.log('listening', server.address())
  },
  stop: async () => {
    if (server === undefined) return
    server.close().closeIdleConnections()
    await once(server, 'close')
  },
}

const manager = createManager({ ops: { port: false, registries: [register] } }).use(web)
manager.register(() => new Sweeper())

app.get('/', (_request, response) => void response.json({ state: manager.state }))
app.get('/livez', async (_request, response) => {
  const { status, body } = await health(manager.livez)
  response.status(status).send(body)
})
app.get('/readyz', async (_request, response) => {
  const { status, body } = await health(manager.readyz)
  response.status(status).send(body)
})
app.get('/metrics', async (_request, response) => {
  const { contentType, body } = await manager.ops.metrics()
  response.type(contentType).send(body)
})

await manager.start()
console.log('stopped')
