# Compiles catalogs with Puppet's compiler in one process, as a Puppet server does for agents: standard input names an environment, a
# node and the name in the agent's certificate in each line; the answer is a line of JSON.
require 'json'
require 'puppet'

Puppet.initialize_settings(ARGV)
$stdout.sync = true
Puppet.push_context(Puppet.base_context(Puppet.settings), 'the test')
$stdin.each_line do |line|
  environment, name, certname = line.split
  began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  facts = Puppet::Node::Facts.new(name, 'clientcert' => 'web-1', 'trusted' => 'web-1', 'os' => { 'family' => 'Debian' })
  node = Puppet::Node.new(name, environment: Puppet.lookup(:environments).get!(environment), facts: facts)
  node.merge(facts.values)
  node.trusted_data = Puppet::Context::TrustedInformation.remote(true, certname, nil).to_h
  answer =
    begin
      catalog = Puppet::Parser::Compiler.compile(node)
      { titles: catalog.resources.select { |one| one.type == 'Notify' }.map(&:title) }
    rescue Puppet::Error => e
      { error: e.message }
    end
  puts JSON.generate(answer.merge(seconds: Process.clock_gettime(Process::CLOCK_MONOTONIC) - began))
end
