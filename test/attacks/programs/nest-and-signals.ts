import { Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { lead } from 'tenure'

/** Both NestJS and Tenure handle SIGTERM; the term takes longer to drain than NestJS to shut down. */
// oxlint-disable-next-line typescript/no-extraneous-class -- this is what a module of NestJS is
class AppModule {}
Module({})(AppModule)
const app = await NestFactory.createApplicationContext(AppModule, { logger: false })
app.enableShutdownHooks()

await lead({ ops: false }, async (term) => {
  const lasting = setInterval(() => {}, 1000)
  console.log('leading')
  await new Promise((resolve) => term.signal.addEventListener('abort', resolve, { once: true }))
  await new Promise((resolve) => setTimeout(resolve, 1500))
  clearInterval(lasting)
  console.log('drained')
})
console.log('stopped')
