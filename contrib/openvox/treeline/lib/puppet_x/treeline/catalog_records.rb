# Fetches the record of each catalog once, keeps unchanged records for later catalogs, and notes them for the report processor.
require 'fileutils'
require 'puppet'
require_relative 'client'

module PuppetX
  module Treeline
    # Records of earlier catalogs of this process. An unchanged record costs a request without a body.
    class KeptRecords
      BYTES_MAX = 64 * 1024 * 1024

      def initialize
        @lock = Mutex.new
        @answers = {}
        @bytes = 0
      end

      # Returns the current record. Every catalog sends a request, so Treeline can refuse a record that is kept here.
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

    # The records of one catalog. They belong to its compiler, because Hiera replaces the context of a hierarchy level whenever a
    # variable of hiera.yaml changes, even within a catalog.
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

      # Returns the record with the source of each value, for explanations.
      def explained_record(client)
        @explained[client] ||= client.explained_record(node)
      end

      # Returns the node of the catalog. An agent proves its name by a certificate; on the command line, an operator names the
      # node. Facts prove nothing: those that an agent once sent may claim any `trusted`.
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

    # Notes from which record each of the last catalogs of a node was compiled. Each node has a file, because the process that gets a
    # report may not be the one that compiled the catalog.
    module CompiledCatalogs
      CATALOGS_MAX = 16

      # Notes the record of a catalog if the report processor is in use. If this fails, the catalog is still compiled.
      def self.note(node, catalog, client, digest)
        return unless Puppet[:reports].split(/\s*,\s*/).include?('treeline')

        noted = read(node).reject { |uuid, _| uuid == catalog }.to_a.last(CATALOGS_MAX - 1).to_h
        noted[catalog] = client.to_h.merge('digest' => digest)
        create_directory
        Puppet::Util.replace_file(path_of(node), 0o640) { |file| file.write(JSON.generate(noted)) }
        give_away(path_of(node))
      rescue SystemCallError => e
        Puppet.warning("The record of #{node} will not be confirmed to Treeline: #{e.message}")
      end

      # Returns the client and the digest by which the record of a catalog was fetched; nil if they are not known. A report may
      # claim any node. The catalog's id proves that it is this node's, because nobody can guess it.
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

      # Files that root creates, as by puppet lookup on a Puppet server, must belong to the server's user.
      def self.give_away(path)
        owner = File.stat(Puppet[:vardir])
        File.chown(owner.uid, owner.gid, path) if Process.euid.zero?
      end

      private_class_method :read, :path_of, :directory, :create_directory, :give_away
    end
  end
end
