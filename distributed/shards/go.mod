module forage/distributed/shards

go 1.26.0

require forage v0.0.0

replace forage => ../..
