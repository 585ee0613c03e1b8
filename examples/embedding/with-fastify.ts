import { fastify } from 'fastify'
import { register } from 'prom-client'
import { createManager, type Extension } from 'tenure'
import { health } from './health.ts'
import { Sweeper } from './sweeper.ts'

const app = fastify({ forceCloseConnections: true })

const web: Extension = {
  name: 'web',
  start: async () => {
    await app.listen({ port: Number(process.env['PORT'] ?? 8080) })
    console.log('listening', app.server.address())
  },
  stop: () => app.close(),
}

const manager = createManager({ ops: { port: false, registries: [register] } }).use(web)
manager.register(() => new Sweeper())

app.get('/', () => ({ state: manager.state }))
app.get('/livez', async (_request, reply) => {
  const { status, body } = await health(manager.livez)
  return reply.code(status).send(body)
})
app.get('/readyz', async (_request, reply) => {
  const { status, body } = await health(manager.readyz)
  return reply.code(status).send(body)
})
app.get('/metrics', async (_request, reply) => {
  const { contentType, body } = await manager.ops.metrics()
  return reply.type(contentType).send(body)
})

await manager.start()
console.log('stopped')
