import 'reflect-metadata'
import { Controller, Get, Header, Injectable, Module } from '@nestjs/common'
import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import type { NestExpressApplication } from '@nestjs/platform-express'
import { register } from 'prom-client'
import { createManager } from 'tenure'
import { health } from './health.ts'
import { Sweeper } from './sweeper.ts'

/** Nest handles the signals, and waits for the manager before it closes anything. */
class Leadership implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly manager = createManager({ signals: false, ops: { port: false, registries: [register] } })

  onApplicationBootstrap(): void {
    this.manager.register(() => new Sweeper())
    // A failure that nobody handles ends the process with its exit code.
    void this.manager.start()
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.manager.stop()
    console.log('stopped')
  }
}
// Written as calls, because Node runs no decorators: `@Injectable() class Leadership`, `@Get('livez') livez()`.
Injectable()(Leadership)

class Operations {
  readonly #manager: Leadership['manager']

  constructor(leadership: Leadership) {
    this.#manager = leadership.manager
  }

  async livez(): Promise<string> {
    const { status, body } = await health(this.#manager.livez)
    if (status !== 200) throw new Error(body)
    return body
  }

  async metrics(): Promise<string> {
    return (await this.#manager.ops.metrics()).body
  }

  state(): unknown {
    return { state: this.#manager.state }
  }
}
Controller()(Operations)
Reflect.defineMetadata('design:paramtypes', [Leadership], Operations)
const routes = { livez: Get('livez'), metrics: Get('metrics'), state: Get() }
for (const [name, route] of Object.entries(routes)) {
  const descriptor = Object.getOwnPropertyDescriptor(Operations.prototype, name)
  if (descriptor === undefined) continue
  route(Operations.prototype, name, descriptor)
  Header('content-type', name === 'state' ? 'application/json' : 'text/plain')(Operations.prototype, name, descriptor)
}

// oxlint-disable-next-line typescript/no-extraneous-class -- this is what a module of NestJS is
class AppModule {}
Module({ providers: [Leadership], controllers: [Operations] })(AppModule)

const app = await NestFactory.create<NestExpressApplication>(AppModule, { logger: ['error', 'warn'] })
app.enableShutdownHooks()
await app.listen(Number(process.env['PORT'] ?? 8080))
console.log('listening', app.getHttpServer().address())
