# The records that catalogs are compiled from: fetched once a catalog, kept while they do not change, and noted where the report
# processor finds them.
require 'fileutils'
require 'puppet'
require_relative 'client'

module PuppetX
  module Treeline
    # Records of earlier catalogs of this process, which cost a request without a body while they do not change.
    class KeptRecords
      BYTES_MAX = 64 * 1024 * 1024

      def initialize
        @lock = Mutex.new
        @answers = {}
        @bytes = 0
      end

      # Returns the present record. What Treeline refuses to this client it is refused here too: each catalog asks.
      def fetch(client, node)
        kept = @lock.synchronize { @answers[[client, node]] }
        answer = client.record(node, kept&.etag)
        return kept if answer.nil?

        @lock.synchronize { keep([client, node], answer) }
        answer
      end

      private

      def keep(key, answer)
        forget(key)
        @answers[key] = answer
        @bytes += answer.bytes
        forget(@answers.each_key.first) while @bytes > BYTES_MAX
      end

      def forget(key)
        @bytes -= @answers.delete(key)&.bytes.to_i
      end
    end

    # What one catalog has asked of Treeline. It hangs at the compiler: Hiera makes the context of a hierarchy level anew whenever a
    # variable of hiera.yaml changes, in the midst of a catalog.
    class CatalogRecords < Puppet::Pops::Adaptable::Adapter
      KEPT = KeptRecords.new

      def self.create_adapter(compiler)
        new(compiler)
      end

      def initialize(compiler)
        @compiler = compiler
        @records = {}
        @explained = {}
      end

      # Returns the record of the catalog's node, the same one for all keys.
      def record(client)
        (@records[client] ||= fetch(client)).body
      end

      # Returns the same with the source of each value; asked for only by who wants an explanation.
      def explained_record(client)
        @explained[client] ||= client.explained_record(node)
      end

      # The node whose catalog it is, never by what it tells about itself: an agent proves its name by a certificate, and on the
      # command line an operator has named the node. Facts that an agent once sent may claim any `trusted`.
      def node
        name = @compiler.node.name
        trusted = @compiler.topscope['trusted'] || {}
        return name if trusted['authenticated'] == 'local'
        return name if trusted['authenticated'] == 'remote' && trusted['certname'] == name

        raise Failure, "it is not certain that this catalog is for #{name} (trusted.certname: #{trusted['certname'].inspect})"
      end

      private

      def fetch(client)
        answer = KEPT.fetch(client, node)
        CompiledCatalogs.note(node, @compiler.catalog.catalog_uuid, client, answer.etag)
        answer
      end
    end

    # Which record each of the last catalogs of a node was compiled from, in a file a node: the process that gets a report need not be
    # the one that has compiled its catalog.
    module CompiledCatalogs
      CATALOGS_MAX = 16

      # Notes the record of a catalog, where the report processor is in use. Nothing of a catalog depends on that.
      def self.note(node, catalog, client, digest)
        return unless Puppet[:reports].split(/\s*,\s*/).include?('treeline')

        noted = read(node).reject { |uuid, _| uuid == catalog }.to_a.last(CATALOGS_MAX - 1).to_h
        noted[catalog] = client.to_h.merge('digest' => digest)
        create_directory
        Puppet::Util.replace_file(path_of(node), 0o640) { |file| file.write(JSON.generate(noted)) }
        give_away(path_of(node))
      rescue SystemCallError => e
        Puppet.warning("What becomes of the record of #{node} cannot be told to Treeline: #{e.message}")
      end

      # Returns the client and the digest by which the record of a catalog was fetched; nil where that is not known. A report names its
      # node and catalog itself: the name of a catalog, which nobody can guess, proves that it is this node's.
      def self.find(node, catalog)
        found = read(node)[catalog]
        found && [Client.new(*found.values_at('uri', 'ca', 'cert', 'key')), found['digest']]
      end

      def self.read(node)
        parsed = JSON.parse(File.read(path_of(node)))
        parsed.is_a?(Hash) ? parsed : {}
      rescue Errno::ENOENT, JSON::ParserError
        {}
      end

      def self.path_of(node)
        raise Failure, "#{node.inspect} cannot be the name of a node" unless node.match?(/\A[A-Za-z0-9][A-Za-z0-9._-]*\z/)

        File.join(directory, "#{node}.json")
      end

      def self.directory
        File.join(Puppet[:vardir], 'treeline')
      end

      def self.create_directory
        return if File.directory?(directory)

        FileUtils.mkdir_p(directory, mode: 0o750)
        give_away(directory)
      end

      # What root makes, by puppet lookup on a Puppet server, is the server's all the same.
      def self.give_away(path)
        owner = File.stat(Puppet[:vardir])
        File.chown(owner.uid, owner.gid, path) if Process.euid.zero?
      end

      private_class_method :read, :path_of, :directory, :create_directory, :give_away
    end
  end
end
