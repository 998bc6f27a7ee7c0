#!/bin/bash
# Start a throw-away Redmine from Debian's packages (apt-get install redmine redmine-sqlite) for tests/products/test_trackers.py.
# usage: start.sh FOLDER PORT     prints "ready http://127.0.0.1:PORT API-KEY", then listens until it is stopped.
set -euo pipefail
folder=$1 port=$2
[ -d /usr/share/redmine ] || { echo "Redmine is not installed: apt-get install redmine redmine-sqlite" >&2; exit 3; }
mkdir -p "$folder"
cp -r /usr/share/redmine "$folder/app" 2>/dev/null || true  # links into root's folders are replaced below
cd "$folder/app"
for link in config/database.yml Gemfile.lock instances public/plugin_assets; do rm -rf "$link"; done
mkdir -p instances/default/{config,log,tmp,files} public/plugin_assets
printf 'production:\n  adapter: sqlite3\n  database: %s/redmine.sqlite\n' "$folder" | tee config/database.yml > instances/default/config/database.yml
echo 'gem "webrick"' >> Gemfile  # the server this script runs; the package leaves the choice open
find . -type l ! -exec test -e {} \; -delete
export RAILS_ENV=production REDMINE_LANG=en SECRET_KEY_BASE=0123456789abcdef0123456789abcdef SCHEMA=$folder/schema.rb
{ bundle exec rake db:migrate && bundle exec rake redmine:load_default_data; } > "$folder/setup.log" 2>&1
cat > "$folder/setup.rb" <<'RUBY'
Setting.rest_api_enabled = "1"
admin = User.find_by_login("admin")
admin.update_column(:must_change_passwd, false)
project = Project.new(name: "Frames", identifier: "frames")
project.trackers = Tracker.all
project.save!
puts "KEY #{admin.api_key}"
RUBY
key=$(bundle exec rails runner "$folder/setup.rb" 2>> "$folder/setup.log" | sed -n 's/^KEY //p' || true)
[ -n "$key" ] || { echo "Redmine could not be set up; see $folder/setup.log" >&2; exit 3; }
echo "ready http://127.0.0.1:$port $key"
exec bundle exec rails server -u webrick -b 127.0.0.1 -p "$port" -e production > "$folder/server.log" 2>&1
